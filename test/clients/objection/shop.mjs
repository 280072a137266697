// Objection
import createKnex from 'knex';
import { Model, raw } from 'objection';

export function connect(connection) {
    return createKnex({ client: 'pg', connection, migrations: { directory: new URL('migrations', import.meta.url).pathname, loadExtensions: ['.mjs'] } });
}

const to = (modelClass, from, on) => ({ relation: Model.BelongsToOneRelation, modelClass, join: { from, to: on } });

export class Customer extends Model {
    static tableName = 'customer';
    static get relationMappings() {
        return { purchases: { relation: Model.HasManyRelation, modelClass: Purchase, join: { from: 'customer.id', to: 'purchase.customer_id' } } };
    }
}

export class Purchase extends Model {
    static tableName = 'purchase';
    static relationMappings = { customer: to(Customer, 'purchase.customer_id', 'customer.id') };
}

export class Ticket extends Model {
    static tableName = 'ticket';

    // A text from outside: one that is no sealed id finds no row, so answer 404.
    static find(text, knex) {
        return this.query(knex).findById(raw('flake_sealed_or_null(?)', [text]));
    }
}

export class Reply extends Model {
    static tableName = 'reply';
    static relationMappings = { ticket: to(Ticket, 'reply.ticket_id', 'ticket.id') };
}

export class Invoice extends Model {
    static tableName = 'invoice';
}

export class Payment extends Model {
    static tableName = 'payment';
    static relationMappings = { invoice: to(Invoice, 'payment.invoice_id', 'invoice.id') };
}
