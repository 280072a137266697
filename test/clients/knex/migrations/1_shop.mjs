export async function up(knex) {
    await knex.raw('CREATE EXTENSION IF NOT EXISTS flakeid');
    await knex.schema.createTable('customer', (table) => {
        table.specificType('id', 'flake').primary().defaultTo(knex.raw('flake_next()'));
        table.text('name').notNullable();
    });
    await knex.schema.createTable('purchase', (table) => {
        table.specificType('id', 'flake').primary().defaultTo(knex.raw('flake_next()'));
        table.specificType('customer_id', 'flake').notNullable().references('customer.id');
        table.text('item').notNullable();
    });
}

export async function down(knex) {
    await knex.schema.dropTable('purchase');
    await knex.schema.dropTable('customer');
}
