// Prints what is offered.
import { printSchema } from 'postgraphile/graphql';
import { server } from './shop.mjs';

console.log(printSchema((await server.getSchemaResult()).schema));
await server.release();
