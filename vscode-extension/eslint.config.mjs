import js from '@eslint/js';
import tseslint from 'typescript-eslint';

export default tseslint.config(
    { ignores: ['dist/', 'node_modules/', 'wheel/', 'src/cli/protocol.ts'] },
    js.configs.recommended,
    {
        files: ['**/*.ts'],
        extends: [tseslint.configs.strictTypeChecked],
        languageOptions: { parserOptions: { projectService: true } },
        rules: {
            '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
            '@typescript-eslint/no-confusing-void-expression': [
                'error',
                { ignoreArrowShorthand: true },
            ],
            'max-lines': ['error', { max: 300, skipComments: true, skipBlankLines: true }],
            'max-lines-per-function': [
                'error',
                { max: 40, skipComments: true, skipBlankLines: true },
            ],
            complexity: ['error', 10],
            eqeqeq: 'error',
        },
    },
    {
        // Only the seam and what draws may know the editor; all else is tested without it.
        files: ['src/**/*.ts'],
        ignores: ['src/extension.ts', 'src/vscode/**'],
        rules: { 'no-restricted-imports': ['error', { paths: ['vscode'] }] },
    },
    {
        // A test is told as one story.
        files: ['test/**/*.ts', 'e2e/**/*.ts'],
        rules: { 'max-lines-per-function': 'off' },
    },
    {
        files: ['**/*.mjs'],
        languageOptions: {
            globals: {
                process: 'readonly',
                console: 'readonly',
                setTimeout: 'readonly',
                setInterval: 'readonly',
            },
        },
    },
);
