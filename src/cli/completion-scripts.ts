/**
 * Completion scripts by shell. Each asks `nightsweep complete` for candidates and lets the shell
 * itself complete files. What is typed is handed over as words and never evaluated: a `$(...)` in
 * a line that is only being completed must not run.
 */
export const completionScripts = {
  bash: String.raw`# nightsweep completion for bash; needs no bash-completion package
_nightsweep() {
  local words current cut last line ending
  read -ra words <<< "\${COMP_LINE:0:COMP_POINT}"
  [[ "\${COMP_LINE:0:COMP_POINT}" == *[[:space:]] ]] && words+=("")
  current="\${words[\${#words[@]}-1]}"
  # Readline replaces only what follows the last of these characters.
  cut="\${current%"\${current##*[=:]}"}"
  COMPREPLY=()
  while IFS= read -r line; do
    last="$line"
    [[ "$line" == :* ]] || COMPREPLY+=("\${line%%$'\t'*}")
  done < <(nightsweep complete -- "\${words[@]:1}" 2>/dev/null)
  COMPREPLY=("\${COMPREPLY[@]#"$cut"}")
  [[ "$last" == :files* ]] || return 0
  compopt -o filenames
  current="\${current##*=}"
  if [[ "$last" == ":files" ]]; then
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$current")
    return 0
  fi
  for ending in \${last#:files }; do
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -X "!*.$ending" -- "$current")
  done
  while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -d -- "$current")
}
complete -F _nightsweep nightsweep
`.replaceAll('\\$', '$'),
  zsh: String.raw`#compdef nightsweep
_nightsweep() {
  local -a lines values
  local line last
  lines=("\${(@f)$(nightsweep complete -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  last="\${lines[-1]}"
  for line in "\${(@)lines[1,-2]}"; do
    values+=("\${\${line%%$'\t'*}//:/\\:}:\${line#*$'\t'}")
  done
  (( $#values )) && _describe nightsweep values
  if [[ "$last" == ":files" ]]; then
    compset -P '*='
    _files
  elif [[ "$last" == :files* ]]; then
    compset -P '*='
    _files -g "*.(\${(j:|:)\${=last#:files }})"
  fi
}
if [ "$funcstack[1]" = "_nightsweep" ]; then _nightsweep "$@"; else compdef _nightsweep nightsweep; fi
`.replaceAll('\\$', '$'),
  fish: String.raw`# nightsweep completion for fish
function __nightsweep_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  set -l lines (nightsweep complete -- $words[2..] "$current" 2>/dev/null)
  for line in $lines
    string match -q ':*' -- $line; or echo $line
  end
  if string match -q ':files*' -- $lines[-1]
    set -l endings (string split -n ' ' -- (string replace ':files' '' -- $lines[-1]))
    for path in (__fish_complete_path (string replace -r '^--[^=]*=' '' -- "$current"))
      if test (count $endings) -eq 0; or string match -q '*/*' -- (string split \t -- $path)[1]
        echo $path
      else if contains (string match -r '[^.]*$' -- (string split \t -- $path)[1]) $endings
        echo $path
      end
    end
  end
end
complete -c nightsweep -f -a '(__nightsweep_complete)'
`,
} as const;
