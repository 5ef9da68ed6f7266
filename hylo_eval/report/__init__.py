"""What people and other tools read: sections of text, Markdown, JUnit and JSON, from the values of a comparison."""
