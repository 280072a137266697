const none = 'of no use here';
module.exports = {
    auth: { secret: none },
    apiToken: { salt: none },
    transfer: { token: { salt: none } },
    secrets: { encryptionKey: none },
    flags: { nps: false, promoteEE: false },
};
