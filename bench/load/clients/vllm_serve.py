"""vLLM's `bench serve` without its engine, which the command line of the package would load."""
import argparse

from vllm.benchmarks import serve

parser = argparse.ArgumentParser()
serve.add_cli_args(parser)
serve.main(parser.parse_args())
