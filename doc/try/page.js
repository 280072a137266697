// The parts of the page that need no PostgreSQL.
import './read.js';
import './choose.js';

document.documentElement.dataset.ready = 'yes';
