// MikroORM
import { EntitySchema, Type, raw } from '@mikro-orm/core';
import { Migrator } from '@mikro-orm/migrations';
import { defineConfig } from '@mikro-orm/postgresql';

// MikroORM names a type with its schema, except public.
const place = process.env.FLAKEID_SCHEMA === 'own' ? 'extensions.' : '';

// An id: made by the database, and kept as a string.
export class FlakeType extends Type {
    getColumnType() {
        return `${place}flake`;
    }

    compareAsType() {
        return 'string';
    }
}

// A sealed id is another text.
export class FlakeSealedType extends FlakeType {
    getColumnType() {
        return `${place}flake_sealed`;
    }
}

const id = { type: FlakeType, primary: true, autoincrement: false, defaultRaw: 'flake_next()' };
const sealed = { ...id, type: FlakeSealedType };
const bigint = { ...id, type: 'bigint' };

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

export const Ticket = new EntitySchema({ name: 'Ticket', properties: { id: sealed, item: { type: 'text' } } });
export const Reply = new EntitySchema({ name: 'Reply', properties: { id: sealed, ticket: { kind: 'm:1', entity: 'Ticket' } } });
export const Invoice = new EntitySchema({ name: 'Invoice', properties: { id: bigint, item: { type: 'text' } } });
export const Payment = new EntitySchema({ name: 'Payment', properties: { id: bigint, invoice: { kind: 'm:1', entity: 'Invoice' } } });

export const config = defineConfig({
    clientUrl: process.env.DATABASE_URL,
    entities: [Customer, Purchase, Ticket, Reply, Invoice, Payment],
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

// A text from outside: one that is no sealed id finds no row, so answer 404.
export async function findTicket(em, text) {
    return em.findOne(Ticket, { id: raw('flake_sealed_or_null(?)', [text]) });
}

export async function lastPurchase(em) {
    const [{ last }] = await em.createQueryBuilder(Purchase).select(raw('max(id) AS last')).execute();
    return last;
}
