const SECRET_VARIABLE =
  /(^|_)(API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|AUTH_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$/i;
const SECRET_FLAG = /^-{0,2}((admin|openai)[-_])?api[-_]key$|^-{0,2}ssl[-_]keyfile[-_]password$/i;

/** Whether an environment variable of this name is likely to hold a secret (`HF_TOKEN`). */
export function isSecretVariable(name: string): boolean {
  return SECRET_VARIABLE.test(name);
}

/** Whether a flag of this name takes a secret (`--api-key`), dashes in front or not. */
export function isSecretFlag(name: string): boolean {
  return SECRET_FLAG.test(name.split('=')[0] ?? name);
}
