#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the quickstart in a folder of its own, with trainings cut short and the program that is built already in place of a
# build: quickstart_test.sh WEFT SCRATCH. tests/long/quickstart.sh runs it whole.
set -euo pipefail
weft=$1 scratch=$2
# shellcheck source=tests/launch/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
begin_in "$scratch"
mkdir -p build/cpu bin elsewhere
cp -r "$root/launch" "$root/configs" .
cat >build/cpu/weft <<END
#!/usr/bin/env bash
case \${1:-} in
  train) set -- "\$@" --set train.max_steps=20 --set schedule.warmup_steps=5 --set checkpoint.every_steps=10 \\
    --set evaluation.every_steps=0 --set log.generations.every_steps=0 ;;
  evaluate) set -- "\$@" --max-sequences 8 ;;
esac
exec $weft "\$@"
END
printf '#!/usr/bin/env bash\necho "cmake $*" >>cmake.log\n' >bin/cmake
printf '#!/usr/bin/env bash\necho installed\n' >bin/dpkg-query
chmod +x build/cpu/weft bin/*
export PATH=$PWD/bin:$PATH
quickstart=$PWD/launch/quickstart.sh

expect 0 'quickstart.sh gpt FILE...' -- "$quickstart" --help
expect 1 'there is no argument translate' 'quickstart.sh gpt FILE...' -- "$quickstart" translate
expect 1 'there is no file or folder missing.txt' -- "$quickstart" gpt missing.txt
same "what the refusals left" '' "$(ls runs corpora 2>/dev/null)"

expect 0 'nothing to do: step 20 of 20' 'BLEU' 'wrote runs/sample-translation/report.html' 'What to try next' -- env WEFT_CUDA=OFF "$quickstart"
matches cmake.log 'cmake --preset cpu -DWEFT_UNITY=ON -DWEFT_CUDA=OFF$'
matches cmake.log 'cmake --build build/cpu .*--target weft$'

# The text of the job, and a text of one's own, named from where the caller is.
expect 0 'done: step 20 of 20' 'perplexity' 'It continues "' 'runs/own-text' -- "$quickstart" gpt
zcat configs/sample/text.txt.gz >text.txt
head -c 60000 text.txt >"elsewhere/my diary.txt"
cd elsewhere
expect 0 'done: step 20 of 20' 'It continues "' 'runs/own-text-my-diary-' -- "$quickstart" gpt "my diary.txt"
expect 0 'nothing to do: step 20 of 20' -- "$quickstart" gpt "my diary.txt"
cd ..
same "runs" 3 "$(find runs -mindepth 1 -maxdepth 1 | wc -l)"

# Without a device, a new folder is built for the CPU alone, and an old one as before.
printf '#!/usr/bin/env bash\nexit 9\n' >bin/nvidia-smi
chmod +x bin/nvidia-smi
mkdir devices
setting() { bash -c 'source launch/common.sh; cuda_setting "$@"' _ "$@"; }
same "without a device" -DWEFT_CUDA=OFF "$(setting new devices)"
same "asked for" -DWEFT_CUDA=ON "$(WEFT_CUDA=ON setting new devices)"
touch build/cpu/CMakeCache.txt
same "without a device, in an old folder" '' "$(setting build/cpu devices)"
printf '#!/usr/bin/env bash\necho "GPU 0: one"\n' >bin/nvidia-smi
same "a device that nvidia-smi lists" -DWEFT_CUDA=AUTO "$(setting new devices)"
printf '#!/usr/bin/env bash\nexit 9\n' >bin/nvidia-smi
touch devices/nvidia0
same "a device" -DWEFT_CUDA=AUTO "$(setting build/cpu devices)"
