import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    restoreMocks: true,
    // To load eslint takes seconds on a busy machine; what hangs is ended all the same.
    testTimeout: 60_000,
    dangerouslyIgnoreUnhandledErrors: false,
  },
});
