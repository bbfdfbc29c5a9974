#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Records the predictions of weft plan for named models on 1, 8 and 64 devices, before these are measured:
#   bench/predict.sh [build/cpu/weft] [bench/results/predictions.json] && bench/table.py
# The layout is the one with the fastest predicted step. bench/gpu.sh measures steps of the GPT-2 models.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
weft=${1:-build/cpu/weft} out=${2:-bench/results/predictions.json}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
gpt=(--set batch.sequences=512 --set batch.micro_batch_tokens=16384)
for device in h100 h200; do
  for model in gpt2-124m gpt2-350m gpt2-774m gpt2-1558m transformer-base; do
    job=("${gpt[@]}")
    [[ $model == gpt2-1558m ]] && job+=(--set batch.micro_batch_tokens=8192)
    [[ $model == transformer-base ]] && job=(--set batch.tokens=400000 --set batch.micro_batch_tokens=25000)
    for count in 1 8 64; do
      "$weft" plan --model "$model" --set train.precision=bf16 "${job[@]}" --device "$device" \
        --ranks "$count" --json "$scratch/$device-$model-$count.json" >/dev/null
    done
  done
done
PYTHONPATH=bench/cpu python3 -B - "$scratch" "$out" "$(git describe --always --dirty)" <<'PY'
import json, pathlib, sys
import result_file

folder, out, commit = sys.argv[1:]
rows, assumed = [], {}
for path in sorted(pathlib.Path(folder).glob("*.json")):
    device, *model, count = path.stem.split("-")
    found = json.loads(path.read_text(encoding="utf-8"))
    assumed[device] = found["assumed"]
    best = found["layouts"][0]
    best.pop("traffic")
    rows.append({"model": "-".join(model), "device": device, "devices": int(count), **best})
order = {name: i for i, name in enumerate(("gpt2-124m", "gpt2-350m", "gpt2-774m", "gpt2-1558m", "transformer-base"))}
rows.sort(key=lambda r: (r["device"], order[r["model"]], r["devices"]))
result_file.write(out, {"what": "predictions by weft plan, not measurements", "command": "bench/predict.sh",
                        "commit": commit, "assumed": assumed, "predictions": rows})
PY
