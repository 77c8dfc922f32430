// Bundles the extension for the editor's Node, and the dashboard's page for its browser.
import { build } from 'esbuild';

const common = { bundle: true, minify: true, legalComments: 'none', logLevel: 'warning' };

await build({
    ...common,
    entryPoints: ['src/extension.ts'],
    outfile: 'dist/extension.js',
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    external: ['vscode'],
});
await build({
    ...common,
    entryPoints: ['src/dashboard/page.ts'],
    outfile: 'dist/dashboard.js',
    platform: 'browser',
    format: 'iife',
    target: 'es2022',
});
