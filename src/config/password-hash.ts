/** A broker password that is a hash; which hashes are good is for the broker to say. */
export const isPasswordHash = (text: string): boolean => /^(?:scrypt:|\$scrypt\$)/.test(text);
