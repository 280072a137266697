// TypeORM
import { DataSource, EntitySchema, In, MoreThan, Raw } from 'typeorm';

// Made by the database, and kept as a string. (Not `generated`, which is for sequences and uuids.)
const id = { type: 'flake', primary: true, default: () => 'flake_next()' };
const sealed = { ...id, type: 'flake_sealed' };
const bigint = { ...id, type: 'bigint' };

export const Customer = new EntitySchema({
    name: 'customer',
    columns: { id, name: { type: 'text' } },
    relations: { purchases: { type: 'one-to-many', target: 'purchase', inverseSide: 'customer' } },
});
export const Purchase = new EntitySchema({
    name: 'purchase',
    columns: { id, customer_id: { type: 'flake' }, item: { type: 'text' } },
    relations: {
        customer: { type: 'many-to-one', target: 'customer', inverseSide: 'purchases', joinColumn: { name: 'customer_id' } },
    },
});

const to = (target) => ({ type: 'many-to-one', target, joinColumn: { name: `${target}_id` } });
export const Ticket = new EntitySchema({ name: 'ticket', columns: { id: sealed, item: { type: 'text' } } });
export const Reply = new EntitySchema({ name: 'reply', columns: { id: sealed, ticket_id: { type: 'flake_sealed' } }, relations: { ticket: to('ticket') } });
export const Invoice = new EntitySchema({ name: 'invoice', columns: { id: bigint, item: { type: 'text' } } });
export const Payment = new EntitySchema({ name: 'payment', columns: { id: bigint, invoice_id: { type: 'bigint' } }, relations: { invoice: to('invoice') } });

export function source(options) {
    const made = new DataSource({ type: 'postgres', url: process.env.DATABASE_URL, entities: [Customer, Purchase, Ticket, Reply, Invoice, Payment], installExtensions: false, ...options });
    made.driver.supportedDataTypes.push('flake', 'flake_sealed');
    return made;
}

export async function addCustomer(db, name) {
    return db.getRepository(Customer).save({ name });
}

export async function addPurchases(db, customerId, items) {
    return db.getRepository(Purchase).save(items.map((item) => ({ customer_id: customerId, item })));
}

export async function customersWithPurchases(db, customerIds) {
    return db.getRepository(Customer).find({
        where: { id: In(customerIds) },
        relations: { purchases: true },
        order: { id: 'ASC', purchases: { id: 'ASC' } },
    });
}

export async function purchasesAfter(db, id, count) {
    return db.getRepository(Purchase).find({ where: { id: MoreThan(id) }, order: { id: 'ASC' }, take: count });
}

// A text from outside: one that is no sealed id finds no row, so answer 404.
export async function findTicket(db, text) {
    return db.getRepository(Ticket).findOneBy({ id: Raw((column) => `${column} = flake_sealed_or_null(:text)`, { text }) });
}

export async function lastPurchase(db) {
    const { max } = await db.getRepository(Purchase).createQueryBuilder('p').select('max(p.id)', 'max').getRawOne();
    return max; // repository.maximum() would round it
}
