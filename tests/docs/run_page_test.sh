#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run_page.sh on pages that are right and wrong, with a weft that only logs its arguments. usage: ... SCRATCH
set -euo pipefail
scratch=$1
# shellcheck source=tests/support/shell.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/shell.sh"
begin_in "$scratch"
cat >"$scratch/weft" <<'END'
#!/usr/bin/env bash
echo "weft $*" >>"$WEFT_CALLS"
[[ $1 != doctor ]] || echo "CUDA ${CUDA_IS:-}"
[[ $1 != validate ]] || ! grep -q wrong "$2"
END
chmod +x "$scratch/weft"
export WEFT_CALLS=$scratch/calls

# page STATUS TEXT: runs run_page.sh on the page on standard input, and expects this exit status and output.
page() {
  cat >"$scratch/page.md"
  : >"$WEFT_CALLS"
  expect "$1" "$2" -- "$root/tests/docs/run_page.sh" "$scratch/weft" \
    "$(realpath --relative-to="$root" "$scratch/page.md")" "$scratch/run"
}

page 0 '3 blocks are as they say, 1 not run' <<'END'
Text.
```sh
weft doctor
weft train job.yaml
```
<!-- before: echo prepared > file
test -s file -->
```sh
test -e file && test -d configs
```
```yaml
# kept.yaml
name: x
```
<!-- not run: it needs an hour -->

```sh
weft never
```
```
any output
```
END
contains "calls" "$(<"$WEFT_CALLS")" 'weft doctor' 'weft train job.yaml --set train.max_steps=' 'weft validate kept.yaml'
lacks "$WEFT_CALLS" 'weft never'

page 1 'page.md:3: the block that ends here fails' <<<$'```sh\nfalse; true\n```'
page 1 'page.md:3: the job that ends here fails' <<<$'```yaml\nname: wrong\n```'
page 1 'the preparation fails' <<<$'<!-- before: false -->\n```sh\ntrue\n```'
page 1 "say why it is not run" <<<$'<!-- not run: no -->\n```sh\ntrue\n```'
page 1 "stands above no block" <<<$'<!-- not run: it needs an hour -->\ntext\n```sh\ntrue\n```'
page 1 "stands above no block" <<<$'<!-- not run: it needs an hour -->'
page 1 "what is a block of 'bash'?" <<<$'```bash\ntrue\n```'
page 1 "a block of 'cpp' is never run" <<<$'<!-- not run: it needs an hour -->\n```cpp\nint x;\n```'
page 1 "name the file that this C++ is from" <<<$'```cpp\nint x;\n```'
page 1 "does not stand in base/error.h" <<<$'<!-- from: base/error.h -->\n```cpp\nint no_such_line;\n```'
page 0 "1 blocks are" <<<$'<!-- from: base/error.h -->\n```cpp\n  Preempted = 75,\n```'
page 1 "a block has no end" <<<$'```sh\ntrue'
page 0 '1 blocks are as they say' <<'END'
```sh
printf '%s\n' 'one (1.5)' '  two in 0.3 s' 'a*b [c] $d ^e'
```
<!-- printed: -->
```
one (1.5)
...
  two in ... s
a*b [c] $d ^e
```
END
# A page that reads public files, without them and with them.
for there in false true; do
  mkdir -p "$scratch/data/gpt2" && rm -f "$scratch/data/gpt2/merges.txt"
  ! $there || echo merges >"$scratch/data/gpt2/merges.txt"
  says='1 blocks are as they say, 0 not run, 1 without what they need'
  ! $there || says='2 blocks are as they say, 0 not run'
  WEFT_TEST_DATA=$scratch/data page 0 "$says" <<'END'
```sh
true
```
<!-- needs: gpt2/merges.txt -->
```sh
cat public/gpt2/merges.txt
```
<!-- printed: -->
```
merges
```
END
done
WEFT_TEST_DATA=$scratch/data page 1 'does not print: others' <<<$'<!-- needs: gpt2/merges.txt -->
```sh\ncat public/gpt2/merges.txt\n```\n<!-- printed: -->\n```\nothers\n```'
for built in 'built without it: the CPU' 'of 4 devices'; do
  says='1 blocks are as they say, 0 not run'
  [[ $built != *without* ]] || says='0 blocks are as they say, 0 not run, 1 without what they need'
  CUDA_IS=$built page 0 "$says" <<<$'<!-- needs: CUDA -->\n```sh\ntrue\n```'
done
page 1 'tests/public_data.txt lists no gpt2/other.txt' <<<$'<!-- needs: gpt2/other.txt -->\n```sh\ntrue\n```'
page 1 "a block of 'yaml' needs nothing" <<<$'<!-- needs: gpt2/merges.txt -->\n```yaml\nname: x\n```'
# shellcheck disable=SC2016 # the dollar is meant literally
for line in one 'one (1x5)' 'two in ... s' 'aab [c] $d ^e' '... three'; do
  page 1 "the block above does not print: $line" <<<$'```sh\necho "one (1.5)"; echo "  two in 0.3 s"\n```
<!-- printed: -->\n```\n'"$line"$'\n```'
done
page 1 "no block was run that could have printed this" <<<$'<!-- printed: -->\n```\none\n```'
page 1 "a block of 'sh' is not what was printed" <<<$'<!-- printed: -->\n```sh\ntrue\n```'
echo "run_page: all as expected"
