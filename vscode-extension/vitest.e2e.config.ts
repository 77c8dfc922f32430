import { defineConfig } from 'vitest/config';

// One workbench after the other: two cores are all that there may be.
export default defineConfig({
  test: {
    include: ['e2e/**/*.e2e.ts'],
    globalSetup: 'e2e/extension.ts',
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 240_000,
    bail: 1,
    reporters: ['verbose'],
  },
});
