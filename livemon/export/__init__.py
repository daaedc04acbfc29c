"""What a judged session is handed out as; never imports Textual."""
