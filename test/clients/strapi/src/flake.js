// Keys of the types of flakeid in Strapi: call flakeKeys() in register().
// `types` says of which type the keys of a content type are. All that points at them gets it too.
exports.flakeKeys = (strapi, types) => {
    const { metadata, dialect: { schemaInspector } } = strapi.db;
    const columnType = (type) => (type === 'bigint' ? { type: 'bigInteger' } : { type: 'specificType', args: [type] });
    const madeByDefault = { type: 'specificType', defaultTo: ['flake_next()', { isRaw: true }], notNullable: true };
    const keys = new Map();

    strapi.hook('strapi::content-types.beforeSync').register(() => {
        for (const [uid, type] of Object.entries(types)) {
            keys.set(metadata.get(uid).tableName, type);
            metadata.get(uid).attributes.id.columnType = { ...madeByDefault, args: [`${type} PRIMARY KEY`] };
        }
        for (const { attributes, foreignKeys } of metadata.values()) {
            for (const { columns: [column], referencedTable } of foreignKeys) {
                if (keys.has(referencedTable) && attributes[column]) {
                    attributes[column].columnType = columnType(keys.get(referencedTable));
                }
            }
            // Media and dynamic zones keep the keys of several tables in one column, and numbers only.
            for (const { joinTable } of Object.values(attributes)) {
                if (joinTable?.morphColumn) {
                    metadata.get(joinTable.name).attributes[joinTable.morphColumn.idColumn.name].columnType = columnType('bigint');
                }
            }
        }
    });

    // What it finds in the database is what it has made: a new field changes no key.
    const { getSchema } = schemaInspector;
    schemaInspector.getSchema = async () => {
        const schema = await getSchema.call(schemaInspector);
        for (const { name, columns } of schema.tables.filter((table) => keys.has(table.name))) {
            const id = columns.find((column) => column.name === 'id');
            if (!/flake_next\(\)$/.test(id.defaultTo)) {
                throw new Error(`The table ${name} is there, and its id is none of flakeid's. Name a content type before its table is made.`);
            }
            Object.assign(id, madeByDefault);
        }
        return schema;
    };
};
