"""Reads the command line of ``python -m bench.million``."""

import argparse
import sys
from pathlib import Path

from bench.million import __doc__ as manual
from bench.million.build import build
from bench.million.data import Shape
from bench.million.folder import change_folder
from bench.million.measure import ROUNDS, measure


def main(words: list[str]) -> int:
    """Does what the words say."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.million", description=manual, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    building = commands.add_parser("build")
    building.add_argument("--documents", type=int, default=1_000_000)
    acls = building.add_mutually_exclusive_group()
    acls.add_argument("--acls", type=int, default=100_000)
    acls.add_argument("--own", action="store_true")
    building.add_argument("--fed", action="store_true")
    measuring = commands.add_parser("measure")
    measuring.add_argument("--rounds", type=int, default=ROUNDS)
    changing = commands.add_parser("folder")
    for each in (building, measuring, changing):
        each.add_argument("data", type=Path)
    given = parser.parse_args(words)
    if given.command == "build":
        build(given.data, Shape(documents=given.documents, acls=0 if given.own else given.acls), is_fed=given.fed)
    elif given.command == "measure":
        measure(given.data, given.rounds)
    elif given.command == "folder":
        change_folder(given.data)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
