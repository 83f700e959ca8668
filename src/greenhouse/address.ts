/** Addresses of registers that the bridge asks for and writes to; the platform is known to use digits alone. */
export const addressPattern = /^[A-Za-z0-9._-]{1,64}$/;
