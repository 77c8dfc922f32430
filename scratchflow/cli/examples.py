"""Two or three lines to copy, for each `--help`. A test parses every one of them with the real parser."""

from __future__ import annotations

# By the words after `scratchflow`; "" is the top. A line and its remark fit 80 columns.
EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "": (
        ("up login.cluster.edu", "the first time: set up and start"),
        ("create --from laptop:~/thesis", "bring a project from this machine"),
    ),
    "up": (
        ("up --gpus 2 --time 8h", "two GPUs for 8 hours"),
        ("up --last --keep-waiting", "as last time, however long it takes"),
    ),
    "status": (
        ("status", "node, time left, snapshots, what to do"),
        ("status --watch", "the same, kept up to date"),
        ("status --all", "every cluster that you have"),
    ),
    "open": (
        ("open", "VS Code on the node, at the workspace"),
        ("open --print", "only say how"),
    ),
    "hop": (
        ("hop --gpus 4 --partition long", "to a larger node"),
        ("hop --to mila", "to another cluster"),
    ),
    "clear": (
        ("clear", "save, give the node back"),
        ("clear --pending", "withdraw a request, keep the node"),
        ("clear --dry-run", "show what would happen"),
    ),
    "create": (
        ("create", "an empty workspace"),
        ("create --from laptop:~/thesis --tracked", "what git knows of it"),
        ("create --env venv --packages numpy", "with an environment"),
    ),
    "backup": (
        ("backup", "save what changed"),
        ('backup -m "submitted version"', "with a name, which is kept"),
        ("backup --from-node 2", "the second node's copy"),
    ),
    "restore": (
        ("restore", "the newest"),
        ("restore yesterday --path src/main.py", "one file as it was"),
        ("restore --path results --to laptop:~/thesis", "as ~/thesis/results"),
    ),
    "sync": (
        ('config set sync.profiles \'["uni", "aws"]\'', "whose homes"),
        ("config set sync.folders '[\"projects\"]'", "what in them"),
        ("sync --dry-run", "show what it would do"),
    ),
    "autobackup": (
        ("autobackup on", "from now on, on the node"),
        ("config set backup.every 15m", "more often"),
    ),
    "autobackup on": (
        ("autobackup on", "every 30 minutes"),
        ("autobackup on --set backup.every=10m", "every 10 minutes"),
    ),
    "autobackup off": (
        ("autobackup off", "until `up` or `autobackup on`"),
        ("autobackup off --dry-run", "show what would happen"),
    ),
    "autobackup status": (
        ("autobackup status", "when the next one is due"),
        ("autobackup status --json", "for scripts"),
    ),
    "snapshots": (
        ("snapshots list", "what there is"),
        ("snapshots verify", "read all of it back"),
    ),
    "snapshots list": (
        ("snapshots list", "of the profile in use"),
        ("snapshots list -p other", "of another profile"),
        ("snapshots list --all-profiles", "of all of them"),
    ),
    "snapshots show": (
        ("snapshots show latest", "the newest one"),
        ("snapshots show latest work/src", "a directory in it"),
    ),
    "snapshots cat": (
        ("snapshots cat yesterday src/main.py", "to stdout"),
        ("snapshots cat latest~2 results.csv", "two before"),
    ),
    "snapshots history": (
        ("snapshots history src/main.py", "when it changed"),
        ("snapshots history src/main.py --json", "for scripts"),
    ),
    "snapshots diff": (
        ("snapshots diff yesterday", "against the workspace now"),
        ("snapshots diff yesterday latest", "against the newest one"),
    ),
    "snapshots verify": (
        ("snapshots verify", "all of them"),
        ("snapshots verify latest", "one"),
    ),
    "snapshots prune": (
        ("snapshots prune --dry-run", "show what would go"),
        ("snapshots prune", "by the rules"),
        ("snapshots prune 20261115T093000Z-3f2a9c", "one, for good"),
    ),
    "snapshots keep": (
        ("snapshots keep latest", "until `snapshots unkeep`"),
        ("snapshots keep 20261115T093000Z-3f2a9c", "another one"),
    ),
    "snapshots unkeep": (
        ("snapshots unkeep latest", "the rules decide"),
        ("snapshots unkeep 20261115T093000Z-3f2a9c", "another one"),
    ),
    "snapshots export": (
        ("snapshots export /fsx/me/work.tar.lz4", "the newest"),
        ("snapshots export laptop:thesis.tar.lz4", "to this machine"),
    ),
    "snapshots copy": (
        ("snapshots copy --to mila", "the newest"),
        ("snapshots copy --all --to mila", "what it lacks"),
    ),
    "snapshots mirror": (
        ("snapshots mirror", "what it lacks"),
        ("snapshots mirror --dry-run", "how much that is"),
    ),
    "snapshots import": (
        ("snapshots import /fsx/me/w.tar.lz4", "as the newest"),
        ("snapshots import --from-mirror --all", "off-site"),
    ),
    "allocate": (
        ("allocate --gpus 2 --time 8h", "two GPUs for 8 hours"),
        ("allocate --node 3 --wait 1h", "node-3, waiting up to an hour"),
        ("allocate --last", "as last time"),
    ),
    "nodes": (
        ("nodes", "what is free, which are warm"),
        ("nodes -p other", "of another cluster"),
    ),
    "run": (
        ("run -- make -j8", "in the workspace, on the node"),
        ("run --detach -- python train.py", "leave it; `attach` shows it"),
        ("run --all -- nvidia-smi -L", "on every node of the allocation"),
    ),
    "shell": (
        ("shell", "Ctrl-D leaves it"),
        ("shell --up", "take a node first if there is none"),
    ),
    "serve": (
        ("serve tensorboard runs --open", "`runs` of the workspace"),
        ("serve jupyter", "prints the address"),
        ("serve -- uvicorn app:app --uds {socket}", "anything else"),
    ),
    "serve tensorboard": (
        ("serve tensorboard runs", "prints the address"),
        ("serve tensorboard runs --open", "and opens the browser"),
    ),
    "serve jupyter": (
        ("serve jupyter --open", "in the browser"),
        ("serve jupyter --copy", "the address on the clipboard"),
        ("serve jupyter --cwd notebooks", "in a directory"),
    ),
    "serve command": (
        ("serve command -- uvicorn app:app --uds {socket}", "yours"),
        ("serve -- python3 -m http.server -b 127.0.0.1 {port}", "a port"),
    ),
    "serve list": (
        ("serve list", "what runs, and where to open it"),
        ("serve list --json", "for scripts"),
    ),
    "serve stop": (
        ("serve stop tensorboard", "one"),
        ("serve stop --all", "all, and every tunnel"),
    ),
    "tunnel": (
        ("tunnel 8888", "port 8888 there and, if it is free, here"),
        ("tunnel 8888:9999", "port 9999 here"),
        ("tunnel tensorboard", "what runs already, from another laptop"),
    ),
    "submit": (
        ("submit -- python3 train.py", "as the profile says"),
        ("submit --time 2h --gpus 1 -- python3 t.py", "others"),
        ("submit --grid lr=0.1,0.01 -- python3 t.py", "--lr=0.1 …"),
    ),
    "jobs": (
        ("jobs", "what is queued, running and done"),
        ("jobs outputs 41 --to laptop:.", "what it made, to this machine"),
        ("jobs rerun --failed 41", "its failed tasks, once more"),
    ),
    "jobs list": (
        ("jobs list --state failed --since 2d", "of the last two days"),
        ("jobs list --tag sweep --all", "however old"),
    ),
    "jobs show": (
        ("jobs show 41", "by Slurm's number"),
        ("jobs show 41_3", "one task of it"),
    ),
    "jobs rerun": (
        ("jobs rerun 41", "the same again"),
        ("jobs rerun --failed --time 4h 41", "what failed, for longer"),
        ("jobs rerun --failed --current 41", "after mending the code"),
    ),
    "jobs diff": (
        ("jobs diff 41 42", "what differs between two jobs"),
        ("jobs diff 41_0 41_3", "between two tasks"),
    ),
    "jobs debug": (
        ("jobs debug 41", "its first failed task"),
        ("jobs debug 41_3", "this task"),
    ),
    "jobs prune": (
        ("jobs prune --dry-run", "which old jobs would go"),
        ("jobs prune 41", "one, however old"),
    ),
    "jobs code": (
        ("jobs code 41 --to laptop:~/job41", "its files, to this machine"),
        ("jobs code 41", "into the workspace"),
    ),
    "jobs outputs": (
        ("jobs outputs", "list the last job's"),
        ("jobs outputs 41 --to laptop:.", "here, as ./job-41"),
        ("jobs outputs 41_3 --to laptop:~/runs", "one task's"),
    ),
    "logs": (
        ("logs -f last", "of the newest job, until it ends"),
        ("logs --failed 41", "of the first task that failed"),
        ("logs --stderr 41_3", "errors of one task"),
    ),
    "cancel": (
        ("cancel 41", "shows it and asks"),
        ("cancel --tag sweep --yes", "all of them, without asking"),
    ),
    "attach": (
        ("attach", "Ctrl-b d leaves it"),
        ("attach --json", "print the command instead"),
    ),
    "setup": (
        ("setup login.cluster.edu --store /fsx/me/scratchflow", "once"),
        ("setup --list-sites", "sites"),
        ("setup --remove", "undo it"),
    ),
    "doctor": (
        ("doctor", "each check with its fix"),
        ("doctor --fix", "mend first what is safe to mend"),
    ),
    "profiles": (
        ("profiles list", "what there is"),
        ("profiles use other", "what commands use from now on"),
        ("status -p other", "another one, for one command"),
    ),
    "profiles list": (
        ("profiles list", "`*` marks the one in use"),
        ("profiles list --json", "for scripts"),
    ),
    "profiles use": (
        ("profiles use other", "from now on"),
        ("up -p other", "for one command"),
    ),
    "profiles add": (
        ("profiles add lab --login lab-login", "a cluster"),
        ("profiles add here --set scheduler=none", "without a cluster"),
    ),
    "profiles copy": (
        ("profiles copy lab long --set slurm.time=2d", "for long jobs"),
        ("profiles copy lab big --set slurm.gpus=8", "for more GPUs"),
    ),
    "profiles remove": (
        ("profiles remove old", "shows the change and asks"),
        ("profiles remove old --dry-run", "show what goes and what stays"),
    ),
    "config": (
        ("config show --origin", "every setting, and who says so"),
        ("config set slurm.partition gpu", "change one"),
    ),
    "config show": (
        ("config show", "every setting in force"),
        ("config show --origin -p other", "with where it came from"),
    ),
    "config path": (
        ("config path", "where the file is"),
        ("config path --json", "and whether it exists"),
    ),
    "config set": (
        ("config set slurm.partition gpu", "a text"),
        ("config set backup.every 15m", "a time"),
        ('config set backup.exclude \'["*.o", "build/"]\'', "a list"),
    ),
    "config get": (
        ("config get slurm.partition", "the value in force"),
        ("config get backup.every -p other", "of another profile"),
    ),
    "config import": (
        ("config import ~/.config/mrunner/config.yaml", "asks first"),
        ("config import config.yaml --dry-run", "only show"),
    ),
    "config unset": (
        ("config unset slurm.partition", "back to the default"),
        ("config unset default_profile", "no default any more"),
    ),
}


def example_lines(words: str) -> list[str]:
    """The examples of a command, aligned, each with its remark."""
    rows = [(f"scratchflow {line}", remark) for line, remark in EXAMPLES.get(words, ())]
    width = max((len(line) for line, _ in rows), default=0)
    return [f"  {line:<{width}}  # {remark}" for line, remark in rows]
