new Promise((resolve) => setTimeout(resolve, 250)).then(() => 'settled');
