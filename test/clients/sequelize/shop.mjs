// Sequelize
import { DataTypes, Op, Sequelize } from 'sequelize';

export const sequelize = new Sequelize(process.env.DATABASE_URL, { logging: false, define: { timestamps: false, freezeTableName: true } });

// Made by the database, and kept as a string.
const id = { type: 'flake', primaryKey: true, defaultValue: Sequelize.literal('flake_next()') };

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

export async function lastPurchase() {
    return Purchase.max('id');
}
