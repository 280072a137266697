// Types flake and flake_sealed in Drizzle, both strings. In TypeScript: customType<{ data: string; driverData: string }>
import { customType } from 'drizzle-orm/pg-core';

export const flake = customType({ dataType: () => 'flake' });
export const flakeSealed = customType({ dataType: () => 'flake_sealed' });
