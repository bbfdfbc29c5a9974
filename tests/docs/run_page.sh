#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks a page of documentation against the program: run_page.sh WEFT PAGE SCRATCH
#
# In the order of the page, in an empty folder with a link to configs/:
#   ```sh     is run and must succeed. `weft` is the program that was built, its `train` and `evaluate` cut short.
#   ```yaml   is a job: `weft validate` must find nothing wrong. A first line "# NAME.yaml" keeps it under that name.
#   ```cpp    needs a comment "from: FILE" above it, and occurs in that file word for word.
#   ```       shows what a program printed, or a layout; anything else after ``` is an error.
# A comment above a block, on lines of its own:
#   <!-- not run: REASON -->       the block is not run, for this reason
#   <!-- before: COMMANDS -->      these run first, unseen by readers: they make files that the block needs
#   <!-- printed: REMARK -->       the block shows what a program printed: each line must occur in the output of the block
#                                  run last; "..." in a line matches any text (times, values that differ between machines)
#   <!-- needs: FILE... -->        the block reads these files of tests/public_data.txt as public/FILE. Where WEFT_TEST_DATA (or
#                                  shared/data beside the sources) lacks one, neither the block nor what it printed is checked.
#                                  CUDA or Parquet among them: the same of a weft that is built without it
# names.py checks the names in the text, and in blocks that are not run everywhere.
set -euo pipefail
weft=$1 page=$2 scratch=$3
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
page=$root/$page
rm -rf "$scratch" && mkdir -p "$scratch/bin" "$scratch/work"
ln -s "$root/configs" "$scratch/work/configs"
public=${WEFT_TEST_DATA:-$root/../shared/data}
[[ ! -d $public ]] || ln -s "$(realpath "$public")" "$scratch/work/public"

# A page shows whole trainings; here short ones prove that the command works.
cat >"$scratch/bin/weft" <<END
#!/usr/bin/env bash
case \${1:-} in
  train) set -- "\$@" --set train.max_steps=20 --set schedule.warmup_steps=5 --set checkpoint.every_steps=10 \\
    --set evaluation.every_steps=0 --set evaluation.every_epochs=0 --set evaluation.patience=0 --set log.generations.every_steps=0 ;;
  evaluate) set -- "\$@" --max-sequences 8 ;;
esac
exec $weft "\$@"
END
chmod +x "$scratch/bin/weft"
export PATH=$scratch/bin:$PATH OMP_NUM_THREADS=1
WEFT_BUILD=$(dirname "$weft")
export WEFT_BUILD # for comments: the build folder, which pages call build/cpu
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

number=0 ran=0 skipped=0 lacking=false lacked=0
problem() {
  echo "${page#"$root"/}:$number: $*"
  exit 1
}

run_commands() { # TEXT WHAT
  (cd "$scratch/work" && bash -euo pipefail -c "$1") </dev/null >"$scratch/output" 2>&1 && return
  cat "$scratch/output"
  problem "$2 fails: $1"
}

check_job() {
  local name=page.yaml
  [[ ! $1 =~ ^'# '([a-z_-]+\.yaml)$'\n' ]] || name=${BASH_REMATCH[1]}
  printf '%s' "$1" >"$scratch/work/$name"
  run_commands "weft validate $name" "the job that ends here"
}

# check_quoted: the text must occur in the file word for word, except for its indentation.
check_quoted() { # TEXT FILE
  [[ -f $root/$2 ]] || problem "there is no $2"
  local text file
  text=$(printf "%s" "$1" | sed "s/^ *//")
  file=$(sed 's/^ *//' "$root/$2")
  [[ $file == *"$text"* ]] || problem "this does not stand in $2: $1"
}

check_printed() { # TEXT
  local line pattern
  ((ran > 0)) || problem "no block was run that could have printed this"
  while IFS= read -r line; do
    # shellcheck disable=SC2016 # sed's own $ and &
    pattern=$(sed 's/[][\.*^$]/\\&/g; s/\\\.\\\.\\\./.*/g' <<<"$line")
    grep -qx -- "$pattern" "$scratch/output" && continue
    cat "$scratch/output"
    problem "the block above does not print: $line"
  done <<<"$1"
}

# has_what_it_needs: whether each of these files of the public test data is there, and CUDA or Parquet if that is named.
has_what_it_needs() { # FILE...
  local file found=0
  for file; do
    if [[ $file == CUDA || $file == Parquet ]]; then
      [[ -z $(weft doctor 2>&1 | sed -nE "/^$file .*(built without it| no: )/p") ]] || found=1
      continue
    fi
    grep -q "^[0-9a-f]* $file " "$root/tests/public_data.txt" || problem "tests/public_data.txt lists no $file"
    [[ -f $scratch/work/public/$file ]] || found=1
  done
  return $found
}

end_of_block() { # LANGUAGE TEXT COMMENT
  local comment=$3
  case $1 in
    sh | yaml | cpp | '') ;;
    *) problem "what is a block of '$1'?" ;;
  esac
  case $comment in
    'not run:'*)
      [[ $1 == sh || $1 == yaml ]] || problem "a block of '$1' is never run"
      ((${#comment} > 20)) || problem "say why it is not run"
      skipped=$((skipped + 1))
      return
      ;;
    'before:'*) run_commands "${comment#before:}" "the preparation" ;;
    'needs:'*)
      [[ $1 == sh ]] || problem "a block of '$1' needs nothing"
      # shellcheck disable=SC2086 # names of files, without spaces
      if ! has_what_it_needs ${comment#needs:}; then
        lacking=true lacked=$((lacked + 1))
        return
      fi
      ;;
    'printed:'*)
      [[ -z $1 ]] || problem "a block of '$1' is not what was printed"
      ! $lacking || return 0
      check_printed "${2%$'\n'}"
      return
      ;;
    'from:'*) ;;
    '') ;;
    *) problem "what is '$comment' above a block?" ;;
  esac
  case $1 in
    sh) run_commands "$2" "the block that ends here" ;;
    yaml) check_job "$2" ;;
    cpp)
      [[ $comment == 'from:'* ]] || problem "name the file that this C++ is from: <!-- from: FILE -->"
      check_quoted "${2%$'\n'}" "$(xargs <<<"${comment#from:}")"
      ;;
    *) return 0 ;;
  esac
  ran=$((ran + 1)) lacking=false
}

inside=false comment='' language='' text=''
while IFS= read -r line || [[ -n $line ]]; do
  number=$((number + 1))
  if $inside; then
    if [[ $line =~ ^[[:space:]]*\`\`\`$ ]]; then
      inside=false
      end_of_block "$language" "$text" "$comment"
      comment=''
    else
      text+=$line$'\n'
    fi
  elif [[ $line =~ ^[[:space:]]*\`\`\`(.*)$ ]]; then
    inside=true language=${BASH_REMATCH[1]} text=''
  elif [[ $line =~ ^\<!--\ (not\ run|before|from|printed|needs): ]]; then
    comment=${line#<!-- }
    while [[ $comment != *'-->' ]] && IFS= read -r line; do
      number=$((number + 1))
      comment+=$'\n'$line
    done
    comment=${comment% -->}
  elif [[ -n $line ]]; then
    [[ -z $comment ]] || problem "the comment '$comment' stands above no block"
  fi
done <"$page"
$inside && problem "a block has no end"
[[ -z $comment ]] || problem "the comment '$comment' stands above no block"
needed=''
((lacked == 0)) || needed=", $lacked without what they need"
echo "${page#"$root"/}: $ran blocks are as they say, $skipped not run$needed"
