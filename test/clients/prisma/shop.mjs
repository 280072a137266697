// Prisma
import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from '@prisma/client';

export const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: process.env.DATABASE_URL }) });

// JSON of a BigInt is a string, and not an error.
BigInt.prototype.toJSON = function () {
    return String(this);
};

export async function addCustomer(name, items) {
    return prisma.customer.create({
        data: { name, purchases: { create: items.map((item) => ({ item })) } },
        include: { purchases: { orderBy: { id: 'asc' } } },
    });
}

export async function customersWithPurchases(customerIds) {
    return prisma.customer.findMany({
        where: { id: { in: customerIds } },
        include: { purchases: { orderBy: { id: 'asc' } } },
        orderBy: { id: 'asc' },
    });
}

export async function purchasesAfter(id, count) {
    return prisma.purchase.findMany({ where: { id: { gt: id } }, orderBy: { id: 'asc' }, take: count });
}

export async function lastPurchase() {
    const { _max } = await prisma.purchase.aggregate({ _max: { id: true } });
    return _max.id;
}
