"""A value that no profile may have is refused by its name, whatever it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.model.errors.config import ConfigBadValue
from tests.unit.config.written import load, refused


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[profiles.a.slurm]\nnodes = 'two'", "`profiles.a.slurm.nodes`"),
        ("[profiles.a.slurm]\nnodes = 0", "`profiles.a.slurm.nodes`"),
        ("[profiles.a.slurm]\ntime = 'soon'", "`profiles.a.slurm.time`"),
        ("[profiles.a.slurm]\nmem = 'lots'", "`profiles.a.slurm.mem`"),
        ("[profiles.a.backup]\nevery = 30", "in quotes"),
        ("[profiles.a.backup]\nevery = 'often'", "a duration like"),
        ("[profiles.a.backup]\nevery = '0s'", "at least 1s"),
        ("[profiles.a.backup]\nlevel = 99", "`profiles.a.backup.level`"),
        ("[profiles.a.backup]\nalso = ['../b']", "without `..`"),
        ("[profiles.a]\nworkspace = '/abs'", "relative path"),
        ("[profiles.a]\nworkspace = ''", "relative path"),
        ("[profiles.a]\nlogin = '-oProxyCommand=x'", "ssh host name"),
        ("[profiles.a]\nalias = 'two words'", "`profiles.a.alias`"),
        ("[profiles.a]\nscheduler = 'pbs'", "it takes `slurm` or `none`"),
        ("[profiles.a]\nstore = 'relative'", "absolute path"),
        ("[profiles.a]\nstore = '$USER/store'", "absolute path"),
        ("[profiles.a]\nstore = '${USER}/store'", "absolute path"),
        ("[profiles.a]\nstore = '~somebody/store'", "absolute path"),
        ("[profiles.a]\nscratch = ''", "absolute path"),
        ("[profiles.a]\nscratch = '/scratch/$(id)'", "only a name"),
        ('[profiles.a]\nlogin = "a\\nProxyCommand x"', "control characters"),
        ('[profiles.a]\nscratch = "/a\\u007f"', "control characters"),
        ('[profiles."../x"]\n', "a profile's name"),
        ("profiles = 3", "expected a table"),
        ("[profiles]\na = 3", "expected a table"),
        ("[profiles.a.environment]\nvariables = {'a b' = 'x'}", "not a variable name"),
        ("[profiles.a]\nslurm = 'x'", "`profiles.a.slurm`"),
    ],
)
def test_a_bad_value_is_refused_by_name(file: Path, text: str, complaint: str) -> None:
    error = refused(file, text)
    assert isinstance(error, ConfigBadValue)
    assert complaint in str(error)


@pytest.mark.parametrize(
    "path", ["/s", "~", "~/s", "$HOME", "$HOME/s", "${HOME}/s", "/s/$USER/x", "/s/${USER}_x"]
)
def test_a_path_of_the_cluster_may_name_its_user_and_home(file: Path, path: str) -> None:
    assert load(file, f"[profiles.a]\nstore = '{path}'").profile.store == path
