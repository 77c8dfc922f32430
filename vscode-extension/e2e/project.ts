// A small project as it grew over a week: each state is what one snapshot holds.

export interface State {
  /** When it was saved: `3 09:50` is ten to ten three days ago, `95` is 95 minutes ago. */
  readonly when: string;
  readonly message: string;
  readonly files: Record<string, string>;
  /** Files that hold so many random bytes: what a program made. */
  readonly made?: Record<string, number>;
}

const README = `# Cell segmentation

\`python src/train.py --lr 0.003\` trains on one GPU and writes to \`runs/\`.
`;

const DATA = `"""Images and masks, read once and kept in memory."""

from pathlib import Path


def load(directory: Path) -> list[tuple[Path, Path]]:
    images = sorted(directory.glob("*.png"))
    return [(image, image.with_suffix(".mask")) for image in images]
`;

const MODEL = `"""A U-Net with as many levels as one asks for."""

from dataclasses import dataclass


@dataclass(frozen=True)
class UNet:
    levels: int = 4
    channels: int = 32

    def widths(self) -> list[int]:
        return [self.channels * 2**level for level in range(self.levels)]
`;

const FIRST = `"""Trains the model and writes a checkpoint after every epoch."""

import argparse
from pathlib import Path

from data import load
from model import UNet


def learning_rate(step: int, base: float) -> float:
    return base


def train(lr: float, epochs: int) -> None:
    model = UNet()
    samples = load(Path("data"))
    for epoch in range(epochs):
        loss = 0.0
        for step, _ in enumerate(samples):
            loss += learning_rate(step, lr)
        print(f"epoch {epoch}: loss {loss:.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--epochs", type=int, default=10)
    given = parser.parse_args()
    train(given.lr, given.epochs)
`;

const WARM = FIRST.replace(
  '    return base\n',
  '    warm_up = min(1.0, (step + 1) / 500)\n    return base * warm_up\n',
).replace('default=0.01', 'default=0.003');

const COSINE = WARM.replace('import argparse\n', 'import argparse\nimport math\n')
  .replace('base: float) -> float:', 'base: float, steps: int) -> float:')
  .replace(
    '    return base * warm_up\n',
    '    cosine = 0.5 * (1 + math.cos(math.pi * step / steps))\n    return base * warm_up * cosine\n',
  )
  .replace('learning_rate(step, lr)', 'learning_rate(step, lr, len(samples))');

const DEEPER = COSINE.replace('model = UNet()', 'model = UNet(levels=5, channels=48)').replace(
  'default=10)',
  'default=40)',
);

/** The script as it is while somebody works on it: not saved yet. */
export const UNSAVED = DEEPER.replace(
  '        print(f"epoch {epoch}: loss {loss:.4f}")\n',
  '        if loss < best:\n            best = loss\n            save(model, Path("runs/best.ckpt"))\n        print(f"epoch {epoch}: loss {loss:.4f} (best {best:.4f})")\n',
)
  .replace(
    '    for epoch in range(epochs):',
    '    best = float("inf")\n    for epoch in range(epochs):',
  )
  .replace('from model import UNet\n', 'from model import UNet, save\n');

const SCRIPT = 'src/train.py';
const losses = (count: number) =>
  ['epoch,loss']
    .concat(Array.from({ length: count }, (_, epoch) => `${epoch},${(2 / (epoch + 2)).toFixed(4)}`))
    .join('\n') + '\n';
const run = (epochs: number, bytes: number) => ({
  files: { 'runs/metrics.csv': losses(epochs) },
  made: { 'runs/last.ckpt': bytes },
});

export const WEEK: readonly State[] = [
  {
    when: '6 16:40',
    message: 'baseline',
    files: { 'README.md': README, 'src/data.py': DATA, 'src/model.py': MODEL, [SCRIPT]: FIRST },
    made: { 'data/cells-0.npy': 1_400_000, 'data/cells-1.npy': 900_000 },
  },
  { when: '5 11:05', message: '', ...run(4, 120_000) },
  { when: '5 17:30', message: 'warm-up', files: { [SCRIPT]: WARM } },
  { when: '4 10:35', message: '', ...run(9, 260_000) },
  { when: '3 09:50', message: 'cosine schedule', files: { [SCRIPT]: COSINE } },
  { when: '3 15:20', message: '', ...run(14, 420_000) },
  { when: '2 14:10', message: 'submitted version', ...run(20, 640_000) },
  { when: '1 11:45', message: 'deeper model', files: { [SCRIPT]: DEEPER } },
  { when: '1 16:20', message: '', ...run(28, 700_000) },
  { when: '95', message: '', ...run(34, 380_000) },
  { when: '35', message: '', ...run(40, 300_000) },
];

/** What makes the files of a state, as a shell script to be run in the workspace. */
export function shellOf({ files, made = {} }: State): string {
  return [
    'set -e',
    'mkdir -p src data runs',
    ...Object.entries(files).map(
      ([name, text]) => `echo ${Buffer.from(text).toString('base64')} | base64 -d > ${name}`,
    ),
    ...Object.entries(made).map(([name, bytes]) => `head -c ${bytes} /dev/urandom > ${name}`),
  ].join('\n');
}

/** The words before a command that make it see the moment when a state was saved; its files keep their true times. */
export function clockOf(when: string, nowMs = Date.now()): string[] {
  const time = momentOf(when, nowMs).toISOString().slice(0, 19).replace('T', ' ');
  return ['env', 'NO_FAKE_STAT=1', 'FAKETIME_DONT_FAKE_MONOTONIC=1', 'faketime', `${time} UTC`];
}

function momentOf(when: string, nowMs: number): Date {
  const [days, clock] = when.split(' ');
  const moment = new Date(nowMs);
  if (clock === undefined) moment.setMinutes(moment.getMinutes() - Number(days));
  else {
    const [hours, minutes] = clock.split(':').map(Number);
    moment.setDate(moment.getDate() - Number(days));
    moment.setHours(hours ?? 0, minutes ?? 0, 0, 0);
  }
  return moment;
}
