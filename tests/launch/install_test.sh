#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests an installation that was moved, and that its user cannot write to. usage: install_test.sh CMAKE BUILD
set -euo pipefail
cmake=$1 build=$2
# shellcheck source=tests/launch/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
shown=("$PWD/log")
begin_in_temporary
chmod 755 .
here=$PWD

"$cmake" --install "$build" --prefix "$here/first" --strip >log
mv first moved
at_end chmod -R u+w "$here/moved"
weft=$here/moved/bin/weft

# All that belongs into an installation is there, and nothing else.
{
  [[ ! -e $build/lib/weft/libweft_parquet.so ]] || echo lib/weft/libweft_parquet.so
  echo bin/weft share/bash-completion/completions/weft share/man/man1/weft.1 share/zsh/site-functions/_weft | tr ' ' '\n'
  cd "$root"
  find configs -name '*.yaml' -o -name '*.gz' | sed 's|^|share/weft/|'
  find launch/slurm launch/follow_metrics.py python -type f | sed 's|^|share/weft/|'
  find README.md CHANGELOG.md LICENSE NOTICE LICENSES docs -type f ! -name '*.tsv' | sed 's|^|share/doc/weft/|'
} | sort >wanted
(cd moved && find . -type f | sed 's|^\./||' | sort) >installed
same_files "what is installed" wanted installed
# The program is left out: with CUDA, the line numbers in its device code name the sources.
same "installed texts that name a folder of the sources or of the build" '' \
  "$(grep -rIlF -e "$root/" -e "$(realpath "$build")" -e "$here/first" moved || true)"
readelf -d "$weft" >sections
lacks sections "PATH.*$(realpath "$build")"

# An ordinary user in an empty folder.
mkdir work
as_user=()
if ((EUID == 0)); then
  chown 65534:65534 work
  as_user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
fi
chmod -R a-w moved
cd work
export HOME=$PWD
! "${as_user[@]}" touch "$here/moved/share/weft/configs/x" 2>/dev/null || fail "the user can write to the installation"

expect_match 0 '^sample-gpt +[A-Z]' '^gpt3-1\.3b +' '^sample-translation +The quickstart: .*\.$' -- "${as_user[@]}" "$weft" jobs
same "the number of jobs" "$(find "$root/configs" -name '*.yaml' ! -path '*/shared/*' | wc -l)" "$(wc -l <"$stdout")"
expect 2 "did you mean 'sample-translation'?" -- "${as_user[@]}" "$weft" jobs sample-translaton

"${as_user[@]}" "$weft" jobs sample-translation >job.yaml
matches job.yaml '^# The quickstart: '
matches job.yaml "^extends: $here/moved/share/weft/configs/shared/translation.yaml +# tokenizer"
matches job.yaml "\[$here/moved/share/weft/configs/sample/train.tsv.gz\]"
expect 0 -- "${as_user[@]}" "$weft" prepare job.yaml
expect 0 'step 20' -- "${as_user[@]}" "$weft" train job.yaml --set train.max_steps=20 --set schedule.warmup_steps=5 \
  --set evaluation.every_steps=0
matches runs/sample-translation/metrics.jsonl '"step":20\b'
expect 0 -- "${as_user[@]}" "$weft" evaluate job.yaml --split test --max-sequences 8
same "what the installation has afterwards" "$(cat ../installed)" "$(cd ../moved && find . -type f | sed 's|^\./||' | sort)"

# A link to the program finds the jobs; the program without its share folder says what is missing.
ln -s "$weft" linked
expect_match 0 '^sample-gpt ' -- ./linked jobs
mkdir bin
cp "$weft" bin/alone
expect 3 'neither in' 'share/weft' 'cmake --install' -- ./bin/alone jobs

# So it is with the module for Parquet.
cp "$root/tests/data/prepare/parquet/documents-zstd.parquet" web.parquet
cat >web.yaml <<'END'
data: {directory: web, format: parquet, train: {files: [web.parquet]}}
tokenizer: {kind: bytes, specials: [</s>], eos: </s>}
END
expect 3 'web.parquet: Parquet needs a module of weft that cannot be loaded: libweft_parquet.so' 'pip install pyarrow' -- \
  ./bin/alone prepare web.yaml
module=$build/lib/weft/libweft_parquet.so
if [[ -e $module ]]; then
  readelf -d "$here/moved/lib/weft/libweft_parquet.so" >sections
  lacks sections "PATH.*$(realpath "$build")"
  LD_LIBRARY_PATH=$(ldd "$module" | sed -nE 's|.*=> (.*)/libparquet.*|\1|p') expect 0 'prepared web' -- "$weft" prepare web.yaml
fi
echo "the installation works where it was moved to, for a user who cannot write to it"
