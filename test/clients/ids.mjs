// Ids of others, for test/world/300_clients.pl.
//   node ids.mjs make N      prints N ids of each program with what they hold: kind id ms node sequence
//   node ids.mjs read        reads lines "kind id" and prints the same
import { DiscordSnowflake } from '@sapphire/snowflake';
import sonyflake from 'sonyflake';
import { createInterface } from 'node:readline';

const { Sonyflake } = sonyflake;
const epoch = Date.UTC(2020, 0, 1);

function read(kind, id) {
    if (kind === 'discord') {
        const parts = DiscordSnowflake.deconstruct(BigInt(id));
        const node = parts.workerId * 32n + parts.processId;
        return [kind, id, parts.timestamp, node, parts.increment].join(' ');
    }
    const parts = Sonyflake.decompose(id, { epoch });
    return [kind, id, parts.timestamp, parts.machineId, parts.sequence].join(' ');
}

if (process.argv[2] === 'make') {
    const machine = new Sonyflake({ machineId: 4711, epoch });
    for (let i = 0; i < Number(process.argv[3]); i++) {
        const id = DiscordSnowflake.generate({ workerId: BigInt(i % 32), processId: 7n });
        console.log(read('discord', id.toString()));
        console.log(read('sonyflake', machine.nextId()));
    }
} else {
    for await (const line of createInterface({ input: process.stdin })) {
        console.log(read(...line.split(' ')));
    }
}
