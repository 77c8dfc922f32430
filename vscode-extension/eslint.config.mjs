import js from '@eslint/js';
import tseslint from 'typescript-eslint';

// What the files of each folder of src/ may import from outside of it.
const FOLDERS = {
    cli: [],
    state: ['cli/'],
    format: ['cli/'],
    views: ['cli/', 'format/', 'state/', 'hint'],
    dashboard: ['cli/', 'format/', 'state/', 'views/'],
    flows: ['cli/', 'format/', 'state/', 'editor', 'hint', 'settings', 'verbs'],
    vscode: ['cli/', 'format/', 'state/', 'views/', 'dashboard/', 'editor'],
};
// What the modules that lie in src/ itself may import; extension.ts and commands.ts wire everything.
const SINGLE = ['cli/', 'format/', 'state/', 'verbs'];

/** The rule: an import that begins with `start` goes on with one of `allowed`. */
function imports(start, allowed, paths = ['vscode']) {
    const names = allowed.map((name) => (name.endsWith('/') ? name : `${name}$`));
    const message = `Allowed here: ${allowed.join(', ') || 'nothing'} (see eslint.config.mjs).`;
    const regexes = [
        // `(?!)` matches nothing: the list may be empty.
        `^${start.replaceAll('.', '\\.')}(?!${['(?!)', ...names].join('|')})`,
        // Detours like `./../flows/up`.
        '.\\.\\./',
    ];
    const patterns = regexes.map((regex) => ({ regex, message }));
    return { 'no-restricted-imports': ['error', { paths, patterns }] };
}

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
        // Only extension.ts and the seam, vscode/, may know the editor; all else is tested without it.
        files: ['src/commands.ts'],
        rules: { 'no-restricted-imports': ['error', { paths: ['vscode'] }] },
    },
    {
        files: ['src/**/*.ts'],
        ignores: ['src/extension.ts', 'src/commands.ts'],
        rules: imports('./', SINGLE),
    },
    ...Object.entries(FOLDERS).map(([folder, allowed]) => ({
        files: [`src/${folder}/*.ts`],
        rules: imports('../', allowed, folder === 'vscode' ? [] : ['vscode']),
    })),
    {
        // The rules above see only the imports at the top of a file.
        files: ['src/**/*.ts'],
        rules: { 'no-restricted-syntax': ['error', 'ImportExpression', 'TSImportType'] },
    },
    {
        // A test may be long.
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
