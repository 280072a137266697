import { FlakeIds } from './flake_lease.mjs';

const ids = new FlakeIds({ holder: 'shop', layout: 'snowflake' });
console.log(await ids.next());
await ids.close();
