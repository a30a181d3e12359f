import type { Vocabulary } from './fill-template.ts';

/** Names that occur in business and systems code; several hundred thousand combinations. */
export const codeWords: Vocabulary = {
  noun: 'account batch buffer cache calendar channel client cluster contract cursor customer document event folder gateway index invoice job ledger lease message node order packet payment policy queue record region report request reservation route schedule segment session shard shipment snapshot stream subscription tenant ticket token worker'.split(
    ' ',
  ),
  verb: 'accept archive assign balance cancel claim close collect commit compact confirm deliver drain enqueue evict expire fetch flush import merge migrate notify parse publish purge reconcile refresh release renew replay reserve resolve retry rotate schedule settle split store sync validate verify'.split(
    ' ',
  ),
  field:
    'amount attempts balance capacity checksum count deadline duration expiry generation height latency limit offset owner parent position priority quota rank rate revision score size state status threshold total version weight'.split(
      ' ',
    ),
  adj: 'active blocked cached damaged delayed empty expired failed idle invalid late locked missing open orphaned partial pending prepared primary remote sealed stale unknown verified'.split(
    ' ',
  ),
};

/** One function or type each, as found in source files of its language. */
export const codeTemplates: Readonly<Record<string, readonly string[]>> = {
  TypeScript: [
    'export interface <Noun>Options {\n  readonly <field>: number;\n  readonly <field2>?: string;\n  readonly signal?: AbortSignal;\n}\n',
    'export async function <verb><Noun>(store: <Noun>Store, id: string): Promise<<Noun> | undefined> {\n  const <noun> = await store.find(id);\n  if (<noun> === undefined || <noun>.<field> > <#>) return undefined;\n  await store.save({ ...<noun>, <field>: <noun>.<field> + 1, <adj>: true });\n  return <noun>;\n}\n',
    "export class <Noun>Registry {\n  readonly #<noun>s = new Map<string, <Noun>>();\n  #<field> = <#>;\n\n  <verb>(id: string, <noun>: <Noun>): void {\n    if (this.#<noun>s.size >= this.#<field>) throw new RangeError(`too many <noun>s: ${this.#<noun>s.size}`);\n    this.#<noun>s.set(id, <noun>);\n  }\n\n  get <adj>Count(): number {\n    return [...this.#<noun>s.values()].filter((one) => one.state === '<adj>').length;\n  }\n}\n",
    'function group<Noun>sBy<Field>(<noun>s: readonly <Noun>[]): Map<number, <Noun>[]> {\n  const groups = new Map<number, <Noun>[]>();\n  for (const <noun> of <noun>s) {\n    const group = groups.get(<noun>.<field>) ?? [];\n    group.push(<noun>);\n    groups.set(<noun>.<field>, group);\n  }\n  return groups;\n}\n',
    "test('a <adj> <noun> is not <verb>d twice', async () => {\n  const store = new Memory<Noun>Store([{ id: 'a<#>', <field>: <#>, state: '<adj>' }]);\n  await <verb><Noun>(store, 'a<#>');\n  expect(store.calls).toEqual(['find', 'save']);\n});\n",
  ],
  Python: [
    '@dataclass(frozen=True)\nclass <Noun>:\n    """A <noun> and the <field> it was created with."""\n\n    identifier: str\n    <field>: int = <#>\n    <adj>: bool = False\n\n    def <verb>(self, <field2>: int) -> "<Noun>":\n        return replace(self, <field>=max(self.<field>, <field2>))\n',
    'def <verb>_<noun>s(<noun>s: Iterable[<Noun>], <field>: int = <#>) -> list[<Noun>]:\n    """Return the <noun>s whose <field> is at least the given one, highest first."""\n    kept = [<noun> for <noun> in <noun>s if <noun>.<field> >= <field> and not <noun>.<adj>]\n    kept.sort(key=lambda <noun>: (-<noun>.<field>, <noun>.identifier))\n    return kept\n',
    'async def <verb>_with_retry(<noun>: <Noun>, client: <Noun>Client, attempts: int = <#>) -> None:\n    for attempt in range(attempts):\n        try:\n            await client.<verb>(<noun>.identifier, timeout=<#> / 10)\n            return\n        except <Adj><Noun>Error as error:\n            logger.warning("<verb> of %s failed: %s", <noun>.identifier, error)\n            await asyncio.sleep(min(2**attempt, <#>))\n    raise TimeoutError(f"gave up on {<noun>.identifier}")\n',
    'class <Noun>Repository:\n    def __init__(self, connection: sqlite3.Connection) -> None:\n        self._connection = connection\n\n    def <verb>(self, identifier: str) -> int:\n        with self._connection:\n            cursor = self._connection.execute(\n                "UPDATE <noun>s SET <field> = <field> + ?, state = \'<adj>\' WHERE id = ?",\n                (<#>, identifier),\n            )\n        return cursor.rowcount\n',
    'def test_<adj>_<noun>_is_skipped(tmp_path):\n    path = tmp_path / "<noun>.json"\n    path.write_text(json.dumps({"id": "x<#>", "<field>": <#>, "state": "<adj>"}))\n    assert <verb>_file(path) is None\n',
  ],
  Go: [
    'type <Noun> struct {\n\tID     string `json:"id"`\n\t<Field> int64  `json:"<field>"`\n\t<Adj>  bool   `json:"<adj>,omitempty"`\n}\n',
    'func (s *<Noun>Service) <Verb>(ctx context.Context, id string) (*<Noun>, error) {\n\ts.mu.Lock()\n\tdefer s.mu.Unlock()\n\t<noun>, ok := s.<noun>s[id]\n\tif !ok {\n\t\treturn nil, fmt.Errorf("<noun> %q: %w", id, ErrNotFound)\n\t}\n\tif <noun>.<Field> > <#> {\n\t\treturn nil, ErrToo<Field>\n\t}\n\t<noun>.<Field>++\n\treturn <noun>, nil\n}\n',
    'func <verb>Worker(ctx context.Context, in <-chan <Noun>, out chan<- Result) error {\n\tticker := time.NewTicker(<#> * time.Millisecond)\n\tdefer ticker.Stop()\n\tfor {\n\t\tselect {\n\t\tcase <-ctx.Done():\n\t\t\treturn ctx.Err()\n\t\tcase <noun>, open := <-in:\n\t\t\tif !open {\n\t\t\t\treturn nil\n\t\t\t}\n\t\t\tout <- Result{ID: <noun>.ID, <Field>: <noun>.<Field> * <#>}\n\t\tcase <-ticker.C:\n\t\t\tlog.Printf("<adj> <noun>s: %d", len(in))\n\t\t}\n\t}\n}\n',
    'func Test<Verb><Adj><Noun>(t *testing.T) {\n\tservice := New<Noun>Service(<#>)\n\tif _, err := service.<Verb>(context.Background(), "n<#>"); !errors.Is(err, ErrNotFound) {\n\t\tt.Fatalf("got %v, want not found", err)\n\t}\n}\n',
  ],
  Rust: [
    '#[derive(Debug, Clone, PartialEq)]\npub struct <Noun> {\n    pub id: u64,\n    pub <field>: u32,\n    state: <Noun>State,\n}\n',
    'impl <Noun>Pool {\n    /// Takes a <noun> out of the pool; `None` when all are <adj>.\n    pub fn <verb>(&mut self, <field>: u32) -> Option<<Noun>> {\n        let position = self.free.iter().position(|one| one.<field> >= <field>)?;\n        let <noun> = self.free.swap_remove(position);\n        self.taken.insert(<noun>.id, Instant::now() + Duration::from_millis(<#>));\n        Some(<noun>)\n    }\n}\n',
    "pub fn parse_<noun>(line: &str) -> Result<<Noun>, Parse<Noun>Error> {\n    let (name, <field>) = line.split_once(':').ok_or(Parse<Noun>Error::Missing<Field>)?;\n    let <field> = <field>.trim().parse().map_err(Parse<Noun>Error::Bad<Field>)?;\n    if <field> > <#> {\n        return Err(Parse<Noun>Error::<Adj>(name.to_owned()));\n    }\n    Ok(<Noun>::new(name, <field>))\n}\n",
    '#[test]\nfn <verb>_keeps_<adj>_<noun>s() {\n    let mut pool = <Noun>Pool::with_capacity(<#>);\n    assert!(pool.<verb>(<#>).is_none());\n}\n',
  ],
  SQL: [
    "CREATE TABLE <noun>s (\n  id INTEGER PRIMARY KEY,\n  <field> INTEGER NOT NULL CHECK (<field> >= 0),\n  state TEXT NOT NULL DEFAULT '<adj>',\n  created_at TEXT NOT NULL\n) STRICT;\n\nCREATE INDEX <noun>s_by_<field> ON <noun>s (state, <field> DESC);\n",
    "SELECT o.id, o.<field>, COUNT(p.id) AS <noun2>s\nFROM <noun>s AS o\nLEFT JOIN <noun2>s AS p ON p.<noun>_id = o.id AND p.state <> '<adj>'\nWHERE o.<field> BETWEEN <#> AND <#>00\nGROUP BY o.id\nHAVING COUNT(p.id) < <#>\nORDER BY o.<field> DESC\nLIMIT <#>;\n",
  ],
  'C++': [
    'class <Noun>Table {\n public:\n  explicit <Noun>Table(std::size_t <field>) : <field>_(<field>) { slots_.reserve(<#>); }\n\n  std::optional<<Noun>> <verb>(std::string_view key) const {\n    const auto found = slots_.find(std::string(key));\n    if (found == slots_.end() || found->second.<adj>) return std::nullopt;\n    return found->second;\n  }\n\n private:\n  std::size_t <field>_;\n  std::unordered_map<std::string, <Noun>> slots_;\n};\n',
    'template <typename Clock>\nbool <verb>_<noun>(<Noun>& <noun>, typename Clock::duration limit) {\n  const auto deadline = Clock::now() + limit;\n  while (<noun>.<field>.load(std::memory_order_acquire) < <#>) {\n    if (Clock::now() >= deadline) return false;\n    std::this_thread::sleep_for(std::chrono::microseconds(<#>));\n  }\n  return true;\n}\n',
  ],
  Bash: [
    'set -euo pipefail\n<noun>_dir="${1:?usage: <verb>-<noun>s DIR}"\nfind "$<noun>_dir" -name \'*.<field>\' -mtime "+<#>" -print0 |\n  while IFS= read -r -d \'\' file; do\n    printf \'%s <adj>\\n\' "$file" >> "$<noun>_dir/<verb>.log"\n    gzip -- "$file"\n  done\n',
  ],
};

/** What the model is asked to do with the code; stands at the end. */
export const codeTasks: readonly string[] = [
  'Review the code above. Name each defect with its line, say what breaks, and write the corrected function.',
  'Continue this module: add a function that <verb>s every <adj> <noun> and a test for it, in the same style.',
  'Explain step by step what happens when two callers <verb> the same <noun> at the same time, then make it safe.',
  'Rewrite the longest function so that it returns early, keep its behaviour, and explain each change.',
  'Write the unit tests that are missing for the <noun> code, with edge cases for <field>.',
  'Port the <noun> part to another language of your choice and point out where the behaviour differs.',
];
