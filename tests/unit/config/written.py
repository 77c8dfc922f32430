"""A configuration file of the test's own, loaded or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scratchflow.config.edit import Edit, apply_edits
from scratchflow.config.settings import Asked, Settings, load_settings
from scratchflow.model.errors.base import ScratchflowError

CONTRACT_EXAMPLE = """
default_profile = "aws"

[profiles.aws]
login = "aws-login"             # an ssh host
scheduler = "slurm"
alias = "compile_machine"
ssh_config = "~/.ssh/config"
scratch = "/scratch/$USER"
workspace = "work"
store = "/fsx/users/$USER/scratchflow"
transport = "auto"
hold = "detached"
tmux_session = "scratchflow"
wait = "10m"

[profiles.aws.slurm]
partition = "dev"
account = ""
time = "8:00:00"
nodes = 1
ntasks = 1
cpus_per_task = 8
mem = "32G"
gpus = 2
gres = ""
qos = ""
constraint = ""
nodelist = ""
exclude = ""
exclusive = false
extra = ["--oversubscribe"]

[profiles.aws.environment]
modules = ["python/3.11"]
after_modules = ""
conda = ""
venv = ""
variables = { CCACHE_DIR = "/tmp/ccache" }
prologue = ""

[profiles.aws.backup]
every = "30m"
final_before = "10m"
also = ["env"]
exclude = ["*.o"]
level = 0
full_every = "7d"
keep_last = 10
keep_hourly = 24
keep_daily = 7
keep_weekly = 4
keep_named = "forever"
keep_unmerged = "30d"
keep_jobs = "90d"
mirror = "box:scratchflow"
rclone = "~/bin/rclone"
"""


def apply_edit(file: Path, key: str, value: str) -> Edit:
    return apply_edits(file, {key: value})


def load(file: Path, text: str | None = None, **more: Any) -> Settings:
    if text is not None:
        file.write_text(text)
    return load_settings(Asked(config=str(file), **more), {})


def refused(file: Path, text: str, **more: Any) -> ScratchflowError:
    with pytest.raises(ScratchflowError) as caught:
        load(file, text, **more)
    assert caught.value.exit_code == 10
    return caught.value
