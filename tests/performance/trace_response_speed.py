"""Speed of the Trace response scorer, printed as a table; with a peer, as ratios.

    python tests/performance/trace_response_speed.py
    python tests/performance/trace_response_speed.py --peer MODULE --peer-path DIR

Typical rows are calls a second, of the best of five stretches in turns with the peer; hostile rows, of about 1 MB each, are seconds and peak memory of one call
in a process of its own. The figures are CPU time, so that a busy machine does not change them much. The
driver `../shared/peers/trace_scorer.py --module hylo_eval.verify --path .` measures more inputs the same
way.
"""

from __future__ import annotations

import argparse
import importlib
import json
import multiprocessing
import random
import resource
import sys
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
HOSTILE_SIZE = 1_000_000
SECONDS_LIMIT = 1.0
MEGABYTES_LIMIT = 300
SET_RESPONSES_A_SECOND = 2_000


def call(response, annotation_type="bbox", truth=(10, 10, 90, 80), answer=3, **options):
    """The arguments of one call."""
    scorer = "soft_iou" if annotation_type.startswith("bbox") else "soft_distance"
    return {
        "response": response,
        "answer_gt": {"type": "integer", "value": answer},
        "annotation_gt": {"type": annotation_type, "value": truth},
        "reward_contract": {
            "reward_contract_version": "v0",
            "answer": {"id": "answer_exact_match_v0", "type": "integer"},
            "annotation": {"id": f"{annotation_type}_{scorer}_v0", "type": annotation_type},
        },
        **options,
    }


def typical():
    """Responses as models give them; each row is a list of calls that are made in turns."""
    rows = dict(_single_calls())
    yield from ((name, [arguments]) for name, arguments in rows.items())
    # A processor learns the branches of one assignment by heart, so guesses are measured that differ, too.
    guessed, chance = rows["100 points, guessed"], random.Random(6)
    guesses = [[[chance.randint(0, 640), chance.randint(0, 480)] for _ in range(100)] for _ in range(40)]
    answers = [json.dumps({"answer": 3, "annotation": guess}) for guess in guesses]
    yield "100 points, 40 guesses", [guessed | {"response": answer} for answer in answers]
    kind = guessed["annotation_gt"]["type"]
    truths = [{"type": kind, "value": truth} for truth in reversed(guesses)]
    pairs = zip(answers, truths, strict=True)
    yield "100 points, 40 truths", [guessed | {"response": answer, "annotation_gt": truth} for answer, truth in pairs]


def _single_calls():
    """Rows of one call."""
    chance = random.Random(5)
    prose = "The gripper stands left of the tray, so the blue cup is nearest. " * 15

    def points(count):
        return [[chance.randint(0, 640), chance.randint(0, 480)] for _ in range(count)]

    def near(values):
        return [[x + chance.randint(-4, 4), y + chance.randint(-4, 4)] for x, y in values]

    def boxes(count):
        return [[x, y, x + chance.randint(5, 120), y + chance.randint(5, 90)] for x, y in points(count)]

    def both(annotation):
        return json.dumps({"answer": 3, "annotation": annotation})

    size = {"image_size": [640, 480]}
    eight, hundred = points(8), points(100)
    yield "answer alone", call('{"answer":3}', trace_reward_mode="answer")
    yield "answer after 1 kB of prose", call(f'{prose}\n{{"answer":3}}', trace_reward_mode="answer")
    yield "box after 1 kB of prose", call(f"{prose}\n{both([12, 9, 88, 85])}")
    yield "box in a code block", call(f"{prose}\n```json\n{both([12, 9, 88, 85])}\n```")
    yield "atomic answer", call("3", trace_reward_mode="answer")
    yield "recovered from prose", call(f"{prose}{both([1, 1, 50, 60])} is my reply. {prose}")
    yield "1 kB of prose alone", call(prose)
    yield "8 points, near", call(both(near(eight)), "point_set", eight, **size)
    yield "20 boxes, guessed", call(both(boxes(20)), "bbox_set", boxes(20))
    yield "100 points, near", call(both(near(hundred)), "point_set", hundred, **size)
    yield "100 points, guessed", call(both(points(100)), "point_set", hundred, **size)


def hostile():
    """Responses that are made to be slow."""

    def repeated(piece):
        return piece * (HOSTILE_SIZE // len(piece) + 1)

    ten = [[index * 50, index * 40] for index in range(10)]
    many_points = json.dumps({"answer": 3, "annotation": [[index % 640, index % 480] for index in range(83_000)]})
    yield "prose, then the object", call(repeated("the arm waits. ") + '{"answer":3}')
    yield "open braces", call(repeated("{"))
    yield "nested objects", call('{"answer":' + '{"a":' * 83_000 + "1" + "}" * 83_000 + "}")
    yield "nested lists", call('{"answer":' + "[" * 500_000 + "]" * 500_000 + "}")
    yield "quotes by line", call(repeated('{"\n') + "}")
    yield "fence and spaces", call("```" + repeated(" ") + "x")
    yield "fences without end", call(repeated("``` a ") + "x")
    yield "closed tags", call(repeated('<answer>{"answer":1}</answer>') + " end")
    yield "small objects", call(repeated('{"a":1} ') + ' {"answer":3} end')
    yield "broken objects", call("".join(f'{{"answer": x{index}}} ' for index in range(52_000)))
    yield "broken literals", call("".join(f"{{'answer': x{index}}} " for index in range(52_000)))
    yield "huge integer", call('{"answer":' + "9" * HOSTILE_SIZE + "}")
    yield "signs", call("{'answer': " + "-" * HOSTILE_SIZE + "1}")
    yield "83,000 points", call(many_points, "point_set", ten)


def calls_a_second(scorers, calls, seconds):
    """The best of five stretches of each scorer, in turns."""
    rates = [0.0 for _ in scorers]
    for _ in range(5):
        for index, score in enumerate(scorers):
            count, start = 0, time.process_time()
            while (passed := time.process_time() - start) < seconds / 5:
                score(**calls[count % len(calls)])
                count += 1
            rates[index] = max(rates[index], count / passed)
    return rates


def measure_once(pipe, module, arguments):
    """Seconds and peak megabytes of one call, in a process of its own."""
    score = importlib.import_module(module).score_trace_response
    score(**call('{"answer":3}'))
    start = time.process_time()
    score(**arguments)
    pipe.send((time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024))


def measure_in_process(module, arguments):
    """`measure_once` in a fresh process; a time that is over the limit by far is infinite."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=measure_once, args=(sender, module, arguments))
    process.start()
    sender.close()
    try:
        return receiver.recv() if receiver.poll(20.0) else (float("inf"), 0)
    except EOFError:
        return (float("inf"), 0)
    finally:
        process.kill()
        process.join()


def main():
    """Print the table; 1 if a limit is broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", help="module of another scorer with the same signature")
    parser.add_argument("--peer-path", help="folder to import it from")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each typical row (default: 1)")
    options = parser.parse_args()
    sys.path[:0] = [str(REPOSITORY), *([options.peer_path] if options.peer_path else [])]
    is_within = True
    rows = dict(hostile())
    for name, arguments in rows.items():
        seconds, megabytes = measure_in_process("hylo_eval.verify", arguments)
        is_within &= seconds <= SECONDS_LIMIT and megabytes <= MEGABYTES_LIMIT
        print(f"hostile  {name:28} {seconds:8.3f} s  {megabytes:5d} MB")
    modules = ["hylo_eval.verify", *([options.peer] if options.peer else [])]
    scorers = [importlib.import_module(module).score_trace_response for module in modules]
    for name, calls in typical():
        rate, *peer_rates = calls_a_second(scorers, calls, options.seconds)
        ratio = "".join(f"   peer {peer_rate:9.0f}/s   ratio {rate / peer_rate:6.2f}" for peer_rate in peer_rates)
        is_within &= not name.startswith("100 points") or rate >= SET_RESPONSES_A_SECOND
        print(f"typical  {name:28} {rate:9.0f}/s{ratio}")
    return 0 if is_within else 1


if __name__ == "__main__":
    sys.exit(main())
