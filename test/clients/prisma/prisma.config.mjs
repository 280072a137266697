import { defineConfig } from 'prisma/config';
import { wasmEngine } from './wasm_engine.mjs';

export default defineConfig({
    schema: 'prisma/schema.prisma',
    ...wasmEngine,
});
