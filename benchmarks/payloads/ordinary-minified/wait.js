new Promise(e=>setTimeout(e,250)).then(()=>"settled");
