const { join } = require('node:path');

require(join(__dirname, '..', '..', 'src', 'main'));
