// MikroORM
import { EntitySchema, Type, raw } from '@mikro-orm/core';
import { Migrator } from '@mikro-orm/migrations';
import { defineConfig } from '@mikro-orm/postgresql';

// An id: made by the database, and kept as a string.
export class FlakeType extends Type {
    getColumnType() {
        return 'flake';
    }

    compareAsType() {
        return 'string';
    }
}

const id = { type: FlakeType, primary: true, autoincrement: false, defaultRaw: 'flake_next()' };

export const Customer = new EntitySchema({
    name: 'Customer',
    properties: {
        id,
        name: { type: 'text' },
        purchases: { kind: '1:m', entity: 'Purchase', mappedBy: 'customer', orderBy: { id: 'asc' } },
    },
});
export const Purchase = new EntitySchema({
    name: 'Purchase',
    properties: {
        id,
        customer: { kind: 'm:1', entity: 'Customer' },
        item: { type: 'text' },
    },
});

export const config = defineConfig({
    clientUrl: process.env.DATABASE_URL,
    entities: [Customer, Purchase],
    extensions: [Migrator],
    schemaGenerator: { ignoreSchema: ['flakeid'] },
    migrations: { path: 'migrations', snapshot: false, emit: 'cjs' },
});

export async function customersWithPurchases(em, customerIds) {
    return em.find(Customer, { id: { $in: customerIds } }, { populate: ['purchases'], orderBy: { id: 'asc' } });
}

export async function purchasesAfter(em, id, count) {
    return em.find(Purchase, { id: { $gt: id } }, { orderBy: { id: 'asc' }, limit: count });
}

export async function lastPurchase(em) {
    const [{ last }] = await em.createQueryBuilder(Purchase).select(raw('max(id) AS last')).execute();
    return last;
}
