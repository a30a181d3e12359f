"""Proposals of Optuna's samplers on exported landscapes.

    EXPORT=landscapes.json npx tsx bench/search/search.ts 200 5000
    python bench/search/optuna-proposals.py landscapes.json proposals.json [share] [GP landscapes]

Needs optuna (and torch, scipy for its GP sampler) in a virtual environment of its own. Prints
nothing; writes, per sampler and seed, the indices of the legal assignments in the order of
launching. Assignments that break a constraint, and ones proposed before, cost no launch: the
sampler is told the worst value so far, or the known value.
"""

import json
import sys
import warnings

import optuna

optuna.logging.set_verbosity(optuna.logging.ERROR)
warnings.simplefilter("ignore")


def propose(landscape, sampler, launches, patience=20):
    names = list(landscape["parameters"])
    legal = {tuple(levels): i for i, levels in enumerate(landscape["legal"])}
    study = optuna.create_study(direction="maximize", sampler=sampler)
    known, order, worst, idle = {}, [], landscape["baseline"] - 0.3, 0
    while len(order) < launches and idle < patience * launches:
        trial = study.ask()
        # -1 is a flag that a constraint switches off.
        switched_off = [n for n in names if n.startswith("speculative-num") or n.startswith("speculative-eagle")]
        levels = {n: trial.suggest_categorical(n, list(range(landscape["parameters"][n]))) for n in names}
        if "speculative-algorithm" in levels and levels["speculative-algorithm"] == 0:
            for name in switched_off:
                levels[name] = -1
        index = legal.get(tuple(levels[n] for n in names))
        idle += 1
        if index is None:
            study.tell(trial, worst)
            continue
        if index in known:
            study.tell(trial, known[index])
            continue
        idle = 0
        score = landscape["scores"][index]
        value = worst if score is None else score + landscape["noise"][index]
        known[index] = value
        if score is not None:
            worst = min(worst, value)
        order.append(index)
        study.tell(trial, value)
    return order


def main():
    landscapes = json.load(open(sys.argv[1]))
    share = float(sys.argv[3]) if len(sys.argv) > 3 else 0.5
    gp = int(sys.argv[4]) if len(sys.argv) > 4 else len(landscapes)
    makers = {
        "optuna TPE": (lambda seed: optuna.samplers.TPESampler(seed=seed, multivariate=True), len(landscapes)),
        "optuna GP": (lambda seed: optuna.samplers.GPSampler(seed=seed), gp),
    }
    out = {name: {} for name in makers}
    for name, (make, count) in makers.items():
        for landscape in landscapes[:count]:
            launches = int(len(landscape["legal"]) * share)
            out[name][str(landscape["seed"])] = propose(landscape, make(landscape["seed"]), launches)
            json.dump(out, open(sys.argv[2], "w"))


main()
