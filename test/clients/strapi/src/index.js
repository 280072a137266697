const { flakeKeys } = require('./flake');

module.exports = {
    register({ strapi }) {
        flakeKeys(strapi, {
            'api::order.order': 'flake', 'api::line.line': 'flake',
            'api::ticket.ticket': 'flake_sealed', 'api::reply.reply': 'flake_sealed',
            'api::invoice.invoice': 'bigint', 'api::payment.payment': 'bigint',
        });
    },
};
