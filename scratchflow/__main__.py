"""`python -m scratchflow` is the same as `scratchflow`."""

from scratchflow.cli.main import main

if __name__ == "__main__":
    main()
