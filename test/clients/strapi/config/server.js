module.exports = { app: { keys: ['of', 'no', 'use', 'here'] }, host: '127.0.0.1', port: 0 };
