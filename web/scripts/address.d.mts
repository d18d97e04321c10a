export function withAddress(html: string, address: string | undefined): string;
