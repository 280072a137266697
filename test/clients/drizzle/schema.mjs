// Drizzle
import { relations, sql } from 'drizzle-orm';
import { bigint, pgTable, text } from 'drizzle-orm/pg-core';
import { flake, flakeSealed } from './flake.mjs';

export const customer = pgTable('customer', {
    id: flake().primaryKey().default(sql`flake_next()`),
    name: text().notNull(),
});
export const purchase = pgTable('purchase', {
    id: flake().primaryKey().default(sql`flake_next()`),
    customerId: flake('customer_id').notNull().references(() => customer.id),
    item: text().notNull(),
});

export const ticket = pgTable('ticket', {
    id: flakeSealed().primaryKey().default(sql`flake_next()`),
    item: text().notNull(),
});
export const reply = pgTable('reply', {
    id: flakeSealed().primaryKey().default(sql`flake_next()`),
    ticketId: flakeSealed('ticket_id').notNull().references(() => ticket.id),
});
export const invoice = pgTable('invoice', {
    id: bigint({ mode: 'bigint' }).primaryKey().default(sql`flake_next()`),
    item: text().notNull(),
});
export const payment = pgTable('payment', {
    id: bigint({ mode: 'bigint' }).primaryKey().default(sql`flake_next()`),
    invoiceId: bigint('invoice_id', { mode: 'bigint' }).notNull().references(() => invoice.id),
});

export const customerRelations = relations(customer, ({ many }) => ({ purchases: many(purchase) }));
export const purchaseRelations = relations(purchase, ({ one }) => ({
    customer: one(customer, { fields: [purchase.customerId], references: [customer.id] }),
}));
