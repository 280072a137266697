// Drizzle
import { relations, sql } from 'drizzle-orm';
import { customType, pgTable, text } from 'drizzle-orm/pg-core';

// Kept as a string. In TypeScript: customType<{ data: string; driverData: string }>
const flake = customType({ dataType: () => 'flake' });

export const customer = pgTable('customer', {
    id: flake().primaryKey().default(sql`flake_next()`),
    name: text().notNull(),
});
export const purchase = pgTable('purchase', {
    id: flake().primaryKey().default(sql`flake_next()`),
    customerId: flake('customer_id').notNull().references(() => customer.id),
    item: text().notNull(),
});

export const customerRelations = relations(customer, ({ many }) => ({ purchases: many(purchase) }));
export const purchaseRelations = relations(purchase, ({ one }) => ({
    customer: one(customer, { fields: [purchase.customerId], references: [customer.id] }),
}));
