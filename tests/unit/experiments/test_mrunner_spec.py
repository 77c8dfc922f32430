"""mrunner's experiment files give the same parameter sets here; what else they say is taken or named."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from scratchflow.experiments.command import command_for
from scratchflow.experiments.mrunner_spec import command_of, read_mrunner_spec
from scratchflow.experiments.spec import Spec
from scratchflow.model.errors.base import ParameterInvalid, SpecInvalid

HELPER = "from mrunner.helpers.specification_helper import create_experiments_helper\n"

# As the example in its documentation does it: it looks for neptune's variables, has defaults in `base_config`, and
# a grid of two texts and two functions.
DOCUMENTED = (
    "import os\n"
    + HELPER
    + """
if 'NEPTUNE_API_TOKEN' not in os.environ or 'NEPTUNE_PROJECT_NAME' not in os.environ:
    print('NEPTUNE_API_TOKEN and NEPTUNE_PROJECT_NAME have to be set')
    exit()

experiments_list = create_experiments_helper(
    experiment_name='Grid experiment',
    project_name=os.environ['NEPTUNE_PROJECT_NAME'],
    script='python experiment_basic.py',
    python_path='.',
    tags=['me', 'project'],
    base_config=dict(param1=10, param2='string', param3=None),
    params_grid=dict(param2=['exp1', 'exp2'], param3=[lambda x: x, lambda x: x**2]),
)
"""
)


class Desk:
    """A file, evaluated by the Python of the tests."""

    def __init__(self, directory: Path) -> None:
        self.file = directory / "my_spec.py"

    def read(self, text: str, time_limit_s: float = 60.0) -> Spec:
        self.file.write_text(text)
        return read_mrunner_spec(self.file, python=sys.executable, time_limit_s=time_limit_s)

    def helper(self, arguments: str, before: str = "") -> Spec:
        call = f"experiments_list = create_experiments_helper({arguments})\n"
        return self.read(f"{HELPER}{before}\n{call}")

    def refusal(self, text: str) -> str:
        with pytest.raises(SpecInvalid) as refused:
            self.read(text)
        return str(refused.value)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.delenv("NEPTUNE_API_TOKEN", raising=False)
    return Desk(tmp_path)


def test_the_documented_example_gives_the_sets_that_mrunner_gives(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEPTUNE_API_TOKEN", "hush")
    monkeypatch.setenv("NEPTUNE_PROJECT_NAME", "team/project")
    spec = desk.read(DOCUMENTED)
    # mrunner: the last key of the grid changes fastest; keys stay where `base_config` has them.
    assert [list(one.items()) for one in spec.sets] == [
        [("param1", 10), ("param2", "exp1"), ("param3", "lambda x: x")],
        [("param1", 10), ("param2", "exp1"), ("param3", "lambda x: x**2")],
        [("param1", 10), ("param2", "exp2"), ("param3", "lambda x: x")],
        [("param1", 10), ("param2", "exp2"), ("param3", "lambda x: x**2")],
    ]
    assert (spec.name, spec.tags) == ("Grid experiment", ["me", "project"])
    assert (spec.command, spec.python_path) == (["python", "experiment_basic.py"], ["."])
    assert spec.variables == {}
    assert {one.key for one in spec.remarks} == {"project_name", "param3"}


def test_a_file_that_ends_itself_is_told_with_its_own_words(desk: Desk) -> None:
    told = desk.refusal(DOCUMENTED)
    assert "it ended by itself (exit code 0)" in told
    assert "NEPTUNE_API_TOKEN and NEPTUNE_PROJECT_NAME have to be set" in told


def test_keys_with_three_underscores_go_side_by_side_and_change_slowest(desk: Desk) -> None:
    grid = "{'lr': [0.1, 0.2], 'seed___': [1, 2], 'opt': ['a'], 'fold___': ('x', 'y')}"
    spec = desk.helper(f"base_config={{'epochs': 3}}, params_grid={grid}")
    # mrunner: first the keys that go side by side, then the others, each in the grid's order.
    assert [list(one.items()) for one in spec.sets] == [
        [("epochs", 3), ("seed", 1), ("fold", "x"), ("lr", 0.1), ("opt", "a")],
        [("epochs", 3), ("seed", 1), ("fold", "x"), ("lr", 0.2), ("opt", "a")],
        [("epochs", 3), ("seed", 2), ("fold", "y"), ("lr", 0.1), ("opt", "a")],
        [("epochs", 3), ("seed", 2), ("fold", "y"), ("lr", 0.2), ("opt", "a")],
    ]


def test_a_list_of_grids_is_one_after_the_other_and_equal_sets_stay(desk: Desk) -> None:
    spec = desk.helper("base_config={}, params_grid=[{'a': [1, 2]}, {}, {'a': [2], 'b': [[3]]}]")
    assert spec.sets == [{"a": 1}, {"a": 2}, {}, {"a": 2, "b": [3]}]


def test_of_lists_that_are_not_equally_long_the_rest_is_left_out_and_told(desk: Desk) -> None:
    spec = desk.helper("base_config={}, params_grid={'a___': [1, 2, 3], 'b___': [4, 5]}")
    assert spec.sets == [{"a": 1, "b": 4}, {"a": 2, "b": 5}]
    assert [one.fate for one in spec.remarks] == [
        "not equally many values go side by side (a 3, b 2); the rest is left out"
    ]


def test_every_argument_of_the_helper_is_taken_or_named(desk: Desk) -> None:
    spec = desk.helper(
        "experiment_name='n', base_config={'k': 1}, params_grid={}, script='s', python_path='a:b',"
        "tags=['t'], add_random_tag=False, env={'MODE': 'x', 'WANDB_API_KEY': 'hush'},"
        "project_name='p', exclude_git_files=True, exclude=['.git'], with_neptune=False,"
        "display_neptune_link=False, copy_neptune_link=False, paths_to_dump='x',"
        "paths_to_copy=['y'], with_mpi=True, callbacks=[print], mrunner_ignore='.i', unheard_of=1"
    )
    assert spec.sets == [{"k": 1}]
    assert (spec.name, spec.command, spec.tags) == ("n", ["s"], ["t"])
    assert (spec.python_path, spec.variables) == (["a", "b"], {"MODE": "x"})
    named = {one.key: one.fate for one in spec.remarks}
    assert set(named) == {
        *("add_random_tag", "project_name", "exclude_git_files", "exclude", "with_neptune"),
        *("display_neptune_link", "copy_neptune_link", "paths_to_dump", "paths_to_copy"),
        *("with_mpi", "callbacks", "mrunner_ignore", "unheard_of", "env.WANDB_API_KEY"),
    }
    assert named["unheard_of"] == "it means nothing here"
    assert "hush" not in repr(spec)


def test_the_file_knows_its_own_name_as_mrunner_tells_it(desk: Desk) -> None:
    spec = desk.helper("experiment_name=globals()['script'][:-3], base_config={}, params_grid={}")
    assert spec.name == "my_spec"


def test_experiments_may_be_made_without_the_helper(desk: Desk) -> None:
    spec = desk.read(
        "from munch import Munch\nfrom mrunner.experiment import Experiment\n"
        "def spec():\n"
        "    p = Munch(a=1)\n    p.b = p.a + 1\n"
        "    return [Experiment(project='p', name='n', script='s', parameters=p, time='10')]\n"
    )
    assert spec.sets == [{"a": 1, "b": 2}]
    assert {one.key for one in spec.remarks} == {"project", "time"}


def test_combinations_may_be_used_by_the_file_itself(desk: Desk) -> None:
    before = (
        "from mrunner.helpers.specification_helper import get_combinations\n"
        "grid = [{k: [v] for k, v in one.items()} for one in get_combinations({'a': [1, 2, 3]}, limit=2)]"
    )
    assert desk.helper("base_config={}, params_grid=grid", before).sets == [{"a": 1}, {"a": 2}]


def test_words_to_mrunner_are_no_parameters(desk: Desk) -> None:
    base = "{'a': 1, 'restore_from_path': '/x', 'send_code': False}"
    spec = desk.helper(f"base_config={base}, params_grid={{}}")
    assert spec.sets == [{"a": 1}]
    assert {one.key for one in spec.remarks} == {"restore_from_path", "send_code"}


def test_modules_beside_the_file_can_be_imported(desk: Desk) -> None:
    (desk.file.parent / "params_defaults.py").write_text("VALUES = [1, 2]\n")
    spec = desk.helper("base_config={}, params_grid={'a': VALUES}", "from params_defaults import *")
    assert len(spec.sets) == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\n", "it sets neither `experiments_list` nor `spec`"),
        ("experiments_list = []\n", "it gives no experiments"),
        ("a = 1\nb = a['x']\n", "line 2: TypeError: 'int' object is not subscriptable"),
        ("a = (\n", "line 1: SyntaxError"),
        (
            "import mrunner.unknown\n",
            "line 1: ModuleNotFoundError: No module named 'mrunner.unknown'",
        ),
        ("import toml_spec\n", "line 1: ModuleNotFoundError: No module named 'toml_spec'"),
        ("import os\nprint('bye')\nos._exit(3)\n", "it ended without an answer: "),
        ("raise KeyboardInterrupt\n", "line 1: KeyboardInterrupt"),
    ],
)
def test_a_file_that_fails_is_told_with_line_and_error(desk: Desk, text: str, words: str) -> None:
    assert words in desk.refusal(text)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("base_config={}, params_grid={'a': 5}", "`a` in a grid is of type `int`"),
        ("base_config={}, params_grid={'a': range(3)}", "`a` in a grid is of type `range`"),
        ("base_config={}, params_grid={'a___b': [1]}", "`___` belongs at the end"),
        ("base_config={'a': {1, 2}}, params_grid={}", "`a` is of type `set`"),
        ("base_config={'a': float('nan')}, params_grid={}", "`a` is nan"),
        ("base_config={'a': {1: 2}}, params_grid={}", "the key 1 of `a` is no text"),
        ("base_config={}, params_grid={}, script='it\\'s'", "`script`: no closing quotation"),
    ],
)
def test_what_cannot_be_passed_on_is_refused(desk: Desk, arguments: str, words: str) -> None:
    with pytest.raises(SpecInvalid) as refused:
        desk.helper(arguments)
    assert words in str(refused.value)


def test_a_name_that_no_command_could_take_is_refused(desk: Desk) -> None:
    with pytest.raises(ParameterInvalid, match="a b"):
        desk.helper("base_config={'a b': 1}, params_grid={}")


def test_experiments_that_differ_in_more_than_parameters_are_refused(desk: Desk) -> None:
    one = "create_experiments_helper(base_config={}, params_grid={}, script='%s')"
    text = f"{HELPER}experiments_list = {one % 'a'} + {one % 'b'}\n"
    assert "its experiments differ in `script`" in desk.refusal(text)


@pytest.mark.slow
def test_a_file_that_does_not_end_is_ended(desk: Desk) -> None:
    with pytest.raises(SpecInvalid, match="it was not done after 1 s"):
        desk.read("while True: pass\n", time_limit_s=1.0)


@pytest.mark.slow
def test_what_a_file_leaves_running_is_not_waited_for(desk: Desk) -> None:
    left = "import subprocess; subprocess.Popen(['sleep', '600'])"
    assert desk.helper("base_config={'a': 1}, params_grid={}", left).sets == [{"a": 1}]


def test_what_a_file_prints_is_kept_and_disturbs_nothing(desk: Desk) -> None:
    spec = desk.helper("base_config={}, params_grid={}", "print('{\"error\": 1}')")
    assert spec.said.strip() == '{"error": 1}'


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(SpecInvalid, match="there is no such file"):
        read_mrunner_spec(tmp_path / "x.py")
    with pytest.raises(SpecInvalid, match="it is no file"):
        read_mrunner_spec(tmp_path)


def test_what_only_a_shell_understands_is_given_to_one_with_parameters_behind_it() -> None:
    words = command_of("ldconfig; X=${Y} python run.py", Path("f"))
    assert command_for(words, {"lr": "a b"}) == [
        "bash",
        "-c",
        'ldconfig; X=${Y} python run.py "$@"',
        "bash",
        "--lr=a b",
    ]
    assert command_of("A=1 python x.py", Path("f"))[:2] == ["bash", "-c"]
    assert command_of("python -m 'a b' --x=1", Path("f")) == ["python", "-m", "a b", "--x=1"]
