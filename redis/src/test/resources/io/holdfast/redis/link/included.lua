local included = 'yes'
