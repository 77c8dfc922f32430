// Makes the .vsix: bundles the code, builds the CLI's wheel into it, packs, and checks the size.
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, rmSync, statSync } from 'node:fs';

const LARGEST_BYTES = 1.75 * 1024 * 1024;
const OUT = 'scratchflow.vsix';
const run = (file, args) => execFileSync(file, args, { stdio: 'inherit' });

const venv = process.env.SCRATCHFLOW_VENV ?? '../.venv';
const python = existsSync(`${venv}/bin/python`) ? `${venv}/bin/python` : 'python3';

run(process.execPath, ['build.mjs']);
rmSync('wheel', { recursive: true, force: true });
mkdirSync('wheel');
// The CLI alone: what it depends on comes from the user's own package index.
const quiet = ['--quiet', '--disable-pip-version-check'];
run(python, ['-m', 'pip', 'wheel', ...quiet, '--no-deps', '--wheel-dir', 'wheel', '..']);
for (const name of ['LICENSE', 'CHANGELOG.md']) copyFileSync(`../${name}`, name);
const pack = ['package', '--no-dependencies', '--out', OUT];
run('node_modules/.bin/vsce', [...pack, '--no-rewrite-relative-links']);

const bytes = statSync(OUT).size;
console.log(`${OUT}: ${(bytes / 1024).toFixed(0)} KiB`);
if (bytes > LARGEST_BYTES) {
    console.error(`${OUT} is larger than ${LARGEST_BYTES} bytes`);
    process.exitCode = 1;
}
