// Sequelize
import { DataTypes, Op, Sequelize } from 'sequelize';

export const sequelize = new Sequelize(process.env.DATABASE_URL, { logging: false, define: { timestamps: false, freezeTableName: true } });

// Made by the database, and kept as a string.
const id = { type: 'flake', primaryKey: true, defaultValue: Sequelize.literal('flake_next()') };
const sealed = { ...id, type: 'flake_sealed' };
const bigint = { ...id, type: DataTypes.BIGINT };

export const Customer = sequelize.define('customer', {
    id,
    name: { type: DataTypes.TEXT, allowNull: false },
});
export const Purchase = sequelize.define('purchase', {
    id,
    customer_id: { type: 'flake', allowNull: false, references: { model: Customer, key: 'id' } },
    item: { type: DataTypes.TEXT, allowNull: false },
});
Customer.hasMany(Purchase, { foreignKey: 'customer_id', as: 'purchases' });
Purchase.belongsTo(Customer, { foreignKey: 'customer_id', as: 'customer' });

export const Ticket = sequelize.define('ticket', { id: sealed, item: { type: DataTypes.TEXT, allowNull: false } });
export const Reply = sequelize.define('reply', { id: sealed, ticket_id: { type: 'flake_sealed', allowNull: false, references: { model: Ticket, key: 'id' } } });
Reply.belongsTo(Ticket, { foreignKey: 'ticket_id', as: 'ticket' });
export const Invoice = sequelize.define('invoice', { id: bigint, item: { type: DataTypes.TEXT, allowNull: false } });
export const Payment = sequelize.define('payment', { id: bigint, invoice_id: { type: DataTypes.BIGINT, allowNull: false, references: { model: Invoice, key: 'id' } } });
Payment.belongsTo(Invoice, { foreignKey: 'invoice_id', as: 'invoice' });

export async function migrate() {
    await sequelize.query('CREATE EXTENSION IF NOT EXISTS flakeid');
    await sequelize.sync();
}

export async function addCustomer(name) {
    return Customer.create({ name });
}

export async function addPurchases(customerId, items) {
    return Purchase.bulkCreate(items.map((item) => ({ customer_id: customerId, item })));
}

export async function customersWithPurchases(customerIds) {
    return Customer.findAll({
        where: { id: customerIds },
        include: { association: 'purchases', separate: true, order: ['id'] },
        order: ['id'],
    });
}

export async function purchasesAfter(id, count) {
    return Purchase.findAll({ where: { id: { [Op.gt]: id } }, order: ['id'], limit: count });
}

// A text from outside: one that is no sealed id finds no row, so answer 404.
export async function findTicket(text) {
    return Ticket.findOne({ where: { id: Sequelize.fn('flake_sealed_or_null', text) } });
}

export async function lastPurchase() {
    return Purchase.max('id');
}
