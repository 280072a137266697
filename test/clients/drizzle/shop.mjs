import { asc, eq, gt, inArray, max, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import * as schema from './schema.mjs';

const { customer, purchase, ticket } = schema;
export const db = drizzle(process.env.DATABASE_URL, { schema });

export async function addCustomer(name) {
    const [row] = await db.insert(customer).values({ name }).returning();
    return row.id; // a string: keep it one
}

export async function addPurchases(customerId, items) {
    const rows = await db.insert(purchase).values(items.map((item) => ({ customerId, item }))).returning();
    return rows.map((row) => row.id);
}

export async function customersWithPurchases(customerIds) {
    return db.query.customer.findMany({
        where: inArray(customer.id, customerIds),
        with: { purchases: { orderBy: asc(purchase.id) } },
        orderBy: asc(customer.id),
    });
}

export async function purchasesAfter(id, count) {
    return db.select().from(purchase).where(gt(purchase.id, id)).orderBy(asc(purchase.id)).limit(count);
}

// A text from outside: one that is no sealed id finds no row, so answer 404.
export async function findTicket(text) {
    const [row] = await db.select().from(ticket).where(eq(ticket.id, sql`flake_sealed_or_null(${text})`));
    return row;
}

export async function lastPurchase() {
    const [{ last }] = await db.select({ last: max(purchase.id) }).from(purchase);
    return last;
}
