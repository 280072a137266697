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
    for (const [type, parent, child] of [['flake_sealed', 'ticket', 'reply'], ['bigint', 'invoice', 'payment']]) {
        await knex.schema.createTable(parent, (table) => {
            table.specificType('id', type).primary().defaultTo(knex.raw('flake_next()'));
            table.text('item').notNullable();
        });
        await knex.schema.createTable(child, (table) => {
            table.specificType('id', type).primary().defaultTo(knex.raw('flake_next()'));
            table.specificType(`${parent}_id`, type).notNullable().references(`${parent}.id`);
        });
    }
}

export async function down(knex) {
    for (const table of ['purchase', 'customer', 'reply', 'ticket', 'payment', 'invoice']) {
        await knex.schema.dropTable(table);
    }
}
